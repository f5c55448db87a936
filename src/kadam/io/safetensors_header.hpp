// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/io/host_file.hpp>
#include <kadam/io/safetensors.hpp>
#include <kadam/layout/tensor_layout.hpp>

#include <string>

namespace kadam::io::detail {

/// What a safetensors header says about the bytes after it.
struct SafetensorsHeader {
  TensorLayout tensors;
  Metadata metadata;
};

/// The JSON text, without padding.
[[nodiscard]] std::string safetensors_header_text(const TensorLayout& tensors, const Metadata& metadata);

/// Reads the header and leaves `file` at the first tensor; everything is checked against the file's size.
[[nodiscard]] SafetensorsHeader read_safetensors_header(HostFileReader& file);

}  // namespace kadam::io::detail
