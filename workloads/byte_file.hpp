// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

struct gzFile_s;

namespace kadam::workloads {

/// Reads a file from front to back, plain or compressed with gzip (.gz, .dz), as its first bytes tell.
///
/// Errors: std::runtime_error that names the file, the offset (in uncompressed bytes) and what was expected
/// there.
class ByteFile {
 public:
  explicit ByteFile(std::filesystem::path path);
  ~ByteFile();
  ByteFile(const ByteFile&) = delete;
  ByteFile& operator=(const ByteFile&) = delete;

  /// Reads exactly `bytes.size()` bytes. what: name of these bytes, for the error.
  void read(std::span<std::uint8_t> bytes, const std::string& what);

  /// Reads `count` bytes into a new vector. `count` may come from the file: it is checked against what a file
  /// of this size can hold before anything is allocated.
  [[nodiscard]] std::vector<std::uint8_t> read_block(std::uint64_t count, const std::string& what);

  /// Reads to the end of the file.
  [[nodiscard]] std::vector<std::uint8_t> read_rest();

  /// Throws if there are bytes left.
  void expect_end();

  /// Throws the std::runtime_error "<file>: at byte <offset>: expected <expected>".
  [[noreturn]] void fail(std::uint64_t offset, const std::string& expected) const;

  /// Position in uncompressed bytes.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  [[nodiscard]] std::size_t read_some(std::span<std::uint8_t> bytes);

  std::filesystem::path path_;
  gzFile_s* file_ = nullptr;
  std::uint64_t stored_bytes_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace kadam::workloads
