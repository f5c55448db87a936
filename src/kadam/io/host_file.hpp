// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/io/xxhash64.hpp>

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

  /// The next byte to read.
  void seek(std::uint64_t offset);

  /// Throws std::runtime_error "<file>: at byte <offset>: expected <expected>".
  [[noreturn]] void fail(std::uint64_t offset, const std::string& expected) const;

  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::uint64_t bytes_left() const { return size_ - offset_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

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
  /// The next byte to write. What is left out on the way to the file's end is 0.
  void seek(std::uint64_t offset);
  /// Puts the file in place. Nothing is on the disk for certain before sync_to_disk().
  void commit();

  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_; }
  /// Of all that was written, in the order in which it was.
  [[nodiscard]] std::uint64_t hash() const { return hash_.value(); }

 private:
  void require_good(const char* action) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::ofstream stream_;
  std::uint64_t bytes_written_ = 0;
  XxHash64 hash_;
  bool committed_ = false;
};

/// Returns when a file, or the names in a folder, would survive a power failure. Errors: std::runtime_error
/// with its name and the system's reason: some file systems tell only now that there was no room.
void sync_to_disk(const std::filesystem::path& path);

}  // namespace kadam::io::detail
