// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/io/host_file.hpp>
#include <kadam/io/tensor_file.hpp>

#include <string>
#include <vector>

namespace kadam::io::detail {

/// What a safetensors header says about the bytes after it.
struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  ///< in the order in which they lie in the file
  Metadata metadata;
};

/// The header as it lies in the file: its length, and the JSON text, padded with spaces to a multiple of 8.
/// Errors: std::invalid_argument for a name or text that JSON cannot hold.
[[nodiscard]] std::string safetensors_header_bytes(const std::vector<StoredTensor>& tensors,
                                                   const Metadata& metadata);

/// Reads the header and leaves `file` at the first tensor; everything is checked against the file's size.
[[nodiscard]] SafetensorsHeader read_safetensors_header(HostFileReader& file);

}  // namespace kadam::io::detail
