// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/io/host_file.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace kadam::io {

/// An array of float32 in C order: the last index varies fastest. An empty shape means one number.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Reads an array of NumPy's .npy format part by part: version 1 or 2, element type '<f4', C order, any
/// shape.
///
/// Errors: std::runtime_error "<file>: at byte <offset>: expected ..." for anything else, also if the file is
/// shorter than its header says, or if it is longer and not `may_be_longer`. may_be_longer: for a file that
/// is still being written, whose header tells how many elements are there already. Memory: holds no elements.
/// File: 6 bytes magic, 2 bytes version, 2 or 4 bytes header length, header, 4 B per element, little-endian.
class NpyReader {
 public:
  explicit NpyReader(const std::filesystem::path& path, bool may_be_longer = false);

  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }
  /// The product of the extents.
  [[nodiscard]] std::int64_t elements() const { return elements_; }
  /// Reads the elements from number `first` on, counted in C order, until `values` are full. Errors: as the
  /// constructor, if there are fewer.
  void read(std::int64_t first, std::span<float> values);

 private:
  detail::HostFileReader file_;
  std::vector<std::int64_t> shape_;
  std::uint64_t begin_ = 0;
  std::int64_t elements_ = 0;
};

/// Reads the whole array. Errors: as NpyReader, before anything is allocated.
[[nodiscard]] NpyArray read_npy(const std::filesystem::path& path);

/// Writes an array of any length part by part: version 1 with the data at a multiple of 64 bytes. It writes
/// `path`.tmp, which commit() puts in place.
///
/// Errors: std::invalid_argument if an extent is below 0 or their product above 2^61, std::runtime_error when
/// writing fails. Worked number: shape {2, 3} gives a file of 128 + 24 bytes.
class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, std::span<const std::int64_t> shape);

  [[nodiscard]] std::int64_t elements() const { return elements_; }
  /// Writes the elements from number `first` on, counted in C order. Parts may be written in any order; each
  /// element once.
  void write(std::int64_t first, std::span<const float> values);
  /// Puts the file in place; to be called when all elements are written.
  void commit() { file_.commit(); }

 private:
  detail::HostFileWriter file_;
  std::uint64_t begin_ = 0;
  std::int64_t elements_ = 0;
};

/// Writes the whole array. Errors: as NpyWriter, and std::invalid_argument if the number of `values` is not
/// the product of the extents.
void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
               std::span<const float> values);

}  // namespace kadam::io
