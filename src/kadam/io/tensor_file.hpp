// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/io/host_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace kadam::io {

/// Free text that a file holds beside its tensors, by key.
using Metadata = std::map<std::string, std::string>;

/// The types of a tensor's elements: float32, or bytes.
enum class TensorType : std::uint8_t { f32, u8 };
[[nodiscard]] constexpr std::uint64_t bytes_per_element(TensorType type) {
  return type == TensorType::f32 ? 4 : 1;
}

/// One tensor of a file: its name, type and length; the extents of its dimensions are not kept.
struct StoredTensor {
  std::string name;
  TensorType type = TensorType::f32;
  std::int64_t elements = 0;

  [[nodiscard]] std::uint64_t bytes() const {
    return bytes_per_element(type) * static_cast<std::uint64_t>(elements);
  }
};

namespace detail {

/// What a safetensors header says about the bytes after it.
struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  ///< in the order in which they lie in the file
  Metadata metadata;
};

/// Returns the header as it lies in the file: its length, and the JSON text, padded with spaces to a multiple
/// of 8. Errors: std::invalid_argument for a name or text that JSON cannot hold.
[[nodiscard]] std::string safetensors_header_bytes(const std::vector<StoredTensor>& tensors,
                                                   const Metadata& metadata);

/// Reads the header and leaves `file` at the first tensor. It checks all sizes against the file's.
[[nodiscard]] SafetensorsHeader read_safetensors_header(HostFileReader& file);

}  // namespace detail

/// Writes a safetensors file tensor by tensor, so that the tensors need not be in memory all at once.
///
/// File: 8 bytes header length n (little-endian), n bytes of JSON padded with spaces to a multiple of 8, then
/// the tensors. The file is written as `path`.tmp; commit() puts it in place when it is whole.
class TensorFileWriter {
 public:
  /// Errors: std::invalid_argument when a name is "__metadata__" or text is not UTF-8; std::runtime_error,
  /// here as in all that follows, when writing fails.
  TensorFileWriter(const std::filesystem::path& path, const std::vector<StoredTensor>& tensors,
                   const Metadata& metadata);

  /// Writes the next bytes of the tensors, in the order of `tensors`; a call may end inside a tensor. Errors:
  /// std::logic_error for more bytes than the tensors have.
  void write(std::span<const std::byte> bytes);
  /// Puts the file in place. Errors: std::logic_error if bytes of the tensors are missing.
  void commit();

  /// The length and the XXH64 hash of the whole file, header included.
  [[nodiscard]] std::uint64_t bytes_written() const { return file_.bytes_written(); }
  [[nodiscard]] std::uint64_t hash() const { return file_.hash(); }

 private:
  detail::HostFileWriter file_;
  std::uint64_t bytes_left_ = 0;
};

/// Reads any part of any tensor of a safetensors file of F32 and U8 tensors.
///
/// Errors: std::runtime_error "<file>: at byte <offset>: expected ..." when it is malformed, has gaps or
/// overlaps, or is shorter or longer than its header says. Nothing is allocated before sizes are checked.
class TensorFile {
 public:
  explicit TensorFile(const std::filesystem::path& path);

  [[nodiscard]] const std::vector<StoredTensor>& tensors() const { return tensors_; }
  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  /// Returns the index in tensors() of the tensor with this name, -1 if there is none.
  [[nodiscard]] std::ptrdiff_t find(const std::string& name) const;
  /// Reads bytes of a tensor, from element `first` on, until `bytes` is full. tensor: its index in tensors().
  /// Errors: std::runtime_error if the tensor has fewer.
  void read(std::ptrdiff_t tensor, std::int64_t first, std::span<std::byte> bytes);
  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }

 private:
  detail::HostFileReader file_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::uint64_t> begins_;  ///< of each tensor, its first byte in the file
  Metadata metadata_;
};

}  // namespace kadam::io
