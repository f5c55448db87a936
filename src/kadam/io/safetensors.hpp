// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/io/tensor_file.hpp>
#include <kadam/layout/tensor_layout.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace kadam::io {

/// Describes the tensors of a layout as a file stores them: in the layout's order, as float32.
[[nodiscard]] std::vector<StoredTensor> stored_tensors(const TensorLayout& tensors);

/// A whole safetensors file of float32 tensors, in the order in which they lie in it.
struct Safetensors {
  TensorLayout tensors;
  std::vector<float> values;  ///< tensors.elements() values
  Metadata metadata;
};

/// Writes the tensors of a flat vector as a safetensors file: first as `path`.tmp, then in place. Each tensor
/// has one dimension in the file, its number of elements.
///
/// Errors: std::invalid_argument when `values` are not tensors.elements(), a name is "__metadata__" or text
/// is not UTF-8; std::runtime_error when writing fails. File: as TensorFileWriter.
void write_safetensors(const std::filesystem::path& path, const TensorLayout& tensors,
                       std::span<const float> values, const Metadata& metadata = {});

/// Reads a safetensors file whose tensors are all of type F32, of any shape; in the result each has one
/// dimension.
///
/// Errors: std::runtime_error "<file>: at byte <offset>: expected ..." when it is malformed, has gaps or
/// overlaps, or is shorter or longer than its header says. Nothing is allocated before the sizes are checked.
[[nodiscard]] Safetensors read_safetensors(const std::filesystem::path& path);

/// Reads a file into `values`, the flat vector of a known layout: each tensor by its name, whatever their
/// order in the file. Returns the file's metadata.
///
/// Errors: as the other `read_safetensors`; std::runtime_error when a tensor is missing, has another size, or
/// is not one of `tensors`; std::invalid_argument when `values` are not tensors.elements().
Metadata read_safetensors(const std::filesystem::path& path, const TensorLayout& tensors,
                          std::span<float> values);

}  // namespace kadam::io
