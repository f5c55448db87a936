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

/// Reads a file from front to back, or from the byte that seek() sets. Errors: those of fail();
/// std::runtime_error if the file cannot be opened.
class HostFileReader {
 public:
  explicit HostFileReader(const std::filesystem::path& path);

  /// Reads exactly `bytes.size()` bytes. what: their name, for the error if the file has fewer.
  void read(std::span<std::byte> bytes, const std::string& what);

  /// Sets the byte at which the next read() begins.
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

/// Writes `path`.tmp, which commit() renames to `path`, so that a reader sees the old file or the whole new
/// one. Without commit() the destructor removes it. Errors: std::runtime_error that names the file and the
/// system's reason.
class HostFileWriter {
 public:
  explicit HostFileWriter(std::filesystem::path path);
  ~HostFileWriter();
  HostFileWriter(const HostFileWriter&) = delete;
  HostFileWriter& operator=(const HostFileWriter&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(const std::string& text) { write(std::as_bytes(std::span(text))); }
  /// Sets the byte at which the next write() begins. Bytes that are left out before the file's end are 0.
  void seek(std::uint64_t offset);
  /// Puts the file in place. It is certain to be on the disk only after sync_to_disk().
  void commit();

  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_; }
  /// The hash of all bytes that were written, in the order of the calls, wherever they lie in the file.
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

/// Returns when a file, or the list of files in a folder, is on the disk, where it survives a power failure.
/// Errors: std::runtime_error with the path and the system's reason; some file systems report only now that
/// the disk is full.
void sync_to_disk(const std::filesystem::path& path);

}  // namespace kadam::io::detail
