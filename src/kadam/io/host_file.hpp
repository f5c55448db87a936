// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace kadam::io::detail {

/// Reads a file from front to back and knows its size. Errors: see `fail`.
class HostFileReader {
 public:
  explicit HostFileReader(const std::filesystem::path& path);

  /// Reads exactly `bytes.size()` bytes; `what` they are goes into the error.
  void read(std::span<std::byte> bytes, const std::string& what);

  /// Throws std::runtime_error "<file>: at byte <offset>: expected <expected>".
  [[noreturn]] void fail(std::uint64_t offset, const std::string& expected) const;

  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::uint64_t bytes_left() const { return size_ - offset_; }

 private:
  std::filesystem::path path_;
  std::ifstream stream_;
  std::uint64_t size_ = 0;
  std::uint64_t offset_ = 0;
};

/// Writes `path`.tmp; `commit` renames it to `path`, so that a reader sees the old file or the whole new one.
/// Errors: std::runtime_error that names the file and the system's reason. Without `commit` it is removed.
class HostFileWriter {
 public:
  explicit HostFileWriter(std::filesystem::path path);
  ~HostFileWriter();
  HostFileWriter(const HostFileWriter&) = delete;
  HostFileWriter& operator=(const HostFileWriter&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(const std::string& text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  void require_good(const char* action) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::ofstream stream_;
  bool committed_ = false;
};

}  // namespace kadam::io::detail
