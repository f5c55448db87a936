// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/byte_file.hpp>

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace kadam::workloads {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

std::uint64_t size_of_regular_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::is_regular_file(status)) {
    throw std::runtime_error(path.string() + ": expected a regular file, found " +
                             (std::filesystem::exists(status) ? "something else" : "no file"));
  }
  return std::filesystem::file_size(path);
}

}  // namespace

ByteFile::ByteFile(std::filesystem::path path)
    : path_(std::move(path)), stored_bytes_(size_of_regular_file(path_)) {
  errno = 0;
  file_ = gzopen(path_.c_str(), "rb");
  if (file_ == nullptr) {
    throw std::runtime_error(path_.string() + ": cannot be opened for reading: " + std::strerror(errno));
  }
  gzbuffer(file_, 1U << 18);
}

ByteFile::~ByteFile() {
  gzclose(file_);
}

std::size_t ByteFile::read_some(std::span<std::uint8_t> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t wanted = std::min(chunk_bytes, bytes.size() - done);
    const int got = gzread(file_, bytes.data() + done, static_cast<unsigned>(wanted));
    // A compressed file that stops too early is told by gzerror alone once its last bytes have been given
    // out.
    int code = Z_OK;
    const std::string reason = gzerror(file_, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      const std::uint64_t where = offset_ + (got > 0 ? static_cast<std::uint64_t>(got) : 0);
      fail(where, "whole gzip data, found " + (reason.empty() ? "none" : reason));
    }
    done += static_cast<std::size_t>(got);
    offset_ += static_cast<std::uint64_t>(got);
    if (static_cast<std::size_t>(got) < wanted) {
      break;
    }
  }
  return done;
}

void ByteFile::read(std::span<std::uint8_t> bytes, const std::string& what) {
  const std::uint64_t begin = offset_;
  const std::size_t got = read_some(bytes);
  if (got < bytes.size()) {
    fail(begin, std::to_string(bytes.size()) + " bytes of " + what + ", found " + std::to_string(got));
  }
}

std::vector<std::uint8_t> ByteFile::read_block(std::uint64_t count, const std::string& what) {
  constexpr std::uint64_t best_deflate_ratio = 1032;
  const bool plain = gzdirect(file_) == 1;
  const std::uint64_t most =
      plain ? stored_bytes_ - std::min(stored_bytes_, offset_) : stored_bytes_ * best_deflate_ratio;
  if (count > most) {
    fail(offset_, std::to_string(count) + " bytes of " + what + " as the header says, but a file of " +
                      std::to_string(stored_bytes_) + " bytes can hold no more than " + std::to_string(most));
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  read(bytes, what);
  return bytes;
}

std::vector<std::uint8_t> ByteFile::read_rest() {
  std::vector<std::uint8_t> bytes;
  std::size_t filled = 0;
  do {
    bytes.resize(filled + chunk_bytes);
    filled += read_some(std::span(bytes).subspan(filled));
  } while (filled == bytes.size());
  bytes.resize(filled);
  return bytes;
}

void ByteFile::expect_end() {
  std::uint8_t byte = 0;
  const std::uint64_t end = offset_;
  if (read_some(std::span(&byte, 1)) != 0) {
    fail(end, "the end of the file, found more bytes");
  }
}

void ByteFile::fail(std::uint64_t offset, const std::string& expected) const {
  throw std::runtime_error(path_.string() + ": at byte " + std::to_string(offset) + ": expected " + expected);
}

}  // namespace kadam::workloads
