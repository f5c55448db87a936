// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/host_file.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <ios>
#include <stdexcept>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace kadam::io::detail {

HostFileReader::HostFileReader(const std::filesystem::path& path) : path_(path) {
  if (!std::filesystem::is_regular_file(path)) {
    throw std::runtime_error(path.string() + ": expected a file that can be read, found " +
                             (std::filesystem::exists(path) ? "something else" : "none"));
  }
  size_ = std::filesystem::file_size(path);
  stream_.open(path, std::ios::binary);
  if (!stream_) {
    throw std::runtime_error(path.string() + ": cannot be opened for reading: " + std::strerror(errno));
  }
}

void HostFileReader::read(std::span<std::byte> bytes, const std::string& what) {
  if (bytes.size() > bytes_left()) {
    fail(offset_,
         std::to_string(bytes.size()) + " bytes of " + what + ", found " + std::to_string(bytes_left()));
  }
  stream_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream_) {
    fail(offset_, std::to_string(bytes.size()) + " bytes of " + what + ", reading failed");
  }
  offset_ += bytes.size();
}

void HostFileReader::seek(std::uint64_t offset) {
  const std::uint64_t size = size_;
  if (offset > size) fail(size, std::to_string(offset - size) + " more bytes");
  stream_.seekg(static_cast<std::streamoff>(offset));
  offset_ = offset;
}

void HostFileReader::fail(std::uint64_t offset, const std::string& expected) const {
  throw std::runtime_error(path_.string() + ": at byte " + std::to_string(offset) + ": expected " + expected);
}

HostFileWriter::HostFileWriter(std::filesystem::path path)
    : path_(std::move(path)), temporary_(path_.string() + ".tmp"), stream_(temporary_, std::ios::binary) {
  require_good("opened for writing");
}

HostFileWriter::~HostFileWriter() {
  if (!committed_) {
    stream_.close();
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
  }
}

void HostFileWriter::write(std::span<const std::byte> bytes) {
  stream_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  require_good("written");
  bytes_written_ += bytes.size();
  hash_.add(bytes);
}

void HostFileWriter::seek(std::uint64_t offset) {
  stream_.seekp(static_cast<std::streamoff>(offset));
  require_good("written");
}

void HostFileWriter::commit() {
  stream_.close();
  require_good("written to its end");
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) {
    throw std::runtime_error(path_.string() +
                             ": the finished file cannot be renamed to this name: " + error.message());
  }
  committed_ = true;
}

void HostFileWriter::require_good(const char* action) const {
  if (!stream_) {
    throw std::runtime_error(temporary_.string() + ": cannot be " + action + ": " + std::strerror(errno));
  }
}

void sync_to_disk(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && ::fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) ::close(file);
  // Some file systems have nothing to do for a folder, and say that it cannot be done.
  if (!done && reason != EINVAL && reason != ENOTSUP)
    throw std::runtime_error(path.string() + ": cannot be flushed to the disk: " + std::strerror(reason));
}

}  // namespace kadam::io::detail
