// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/option_fields.hpp>

#include <cstdint>
#include <string>

namespace kadam {

/// Equal where tensors have the same names and lengths in the same order: what ranks agree on, and what a
/// checkpoint is told by to be of another model.
[[nodiscard]] inline std::uint64_t hash_of(const TensorLayout& layout) {
  std::string text;
  for (const Tensor& tensor : layout.tensors()) text += tensor.name + ":" + std::to_string(tensor.end) + ";";
  return hash_of(text);
}

}  // namespace kadam
