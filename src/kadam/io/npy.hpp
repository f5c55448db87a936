// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace kadam::io {

/// An array of float32 in C order: the last index varies fastest. Rank 0 (an empty shape) is one number.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Reads NumPy's .npy format, version 1 or 2, element type '<f4', C order, any shape.
///
/// Errors: std::runtime_error "<file>: at byte <offset>: expected ..." for anything else, also when the file
/// is shorter or longer than its header says. Nothing is allocated before the size is checked. Wire: 6 bytes
/// magic, 2 bytes version, 2 or 4 bytes header length, header, 4 B per element, little-endian.
[[nodiscard]] NpyArray read_npy(const std::filesystem::path& path);

/// Writes version 1 with the data at a multiple of 64 bytes, by way of `path`.tmp.
///
/// Errors: std::invalid_argument when `values` are not as many as `shape` says, std::runtime_error when
/// writing fails. Worked number: shape {2, 3} gives a file of 128 + 24 bytes.
void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
               std::span<const float> values);

}  // namespace kadam::io
