// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/safetensors_header.hpp>
#include <kadam/io/tensor_file.hpp>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace kadam::io {

static_assert(std::endian::native == std::endian::little, "kadam::io writes float32 as it lies in memory");

TensorFileWriter::TensorFileWriter(const std::filesystem::path& path,
                                   const std::vector<StoredTensor>& tensors, const Metadata& metadata)
    : file_(path) {
  for (const StoredTensor& tensor : tensors) bytes_left_ += tensor.bytes();
  file_.write(detail::safetensors_header_bytes(tensors, metadata));
}

void TensorFileWriter::write(std::span<const std::byte> bytes) {
  if (bytes.size() > bytes_left_)
    throw std::logic_error("kadam::io::TensorFileWriter: more bytes than the tensors have");
  file_.write(bytes);
  bytes_left_ -= bytes.size();
}

void TensorFileWriter::commit() {
  if (bytes_left_ > 0)
    throw std::logic_error("kadam::io::TensorFileWriter: bytes of the tensors are missing");
  file_.commit();
}

TensorFile::TensorFile(const std::filesystem::path& path) : file_(path) {
  detail::SafetensorsHeader header = detail::read_safetensors_header(file_);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
  std::uint64_t begin = file_.offset();
  for (const StoredTensor& tensor : tensors_) {
    begins_.push_back(begin);
    begin += tensor.bytes();
  }
}

std::ptrdiff_t TensorFile::find(const std::string& name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const StoredTensor& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? -1 : found - tensors_.begin();
}

void TensorFile::read(std::ptrdiff_t tensor, std::int64_t first, std::span<std::byte> bytes) {
  const auto index = static_cast<std::size_t>(tensor);
  const StoredTensor& stored = tensors_[index];
  const std::uint64_t skipped = bytes_per_element(stored.type) * static_cast<std::uint64_t>(first);
  if (first < 0 || skipped > stored.bytes() || bytes.size() > stored.bytes() - skipped) {
    file_.fail(begins_[index],
               "more than the " + std::to_string(stored.elements) + " elements of '" + stored.name + "'");
  }
  file_.seek(begins_[index] + skipped);
  file_.read(bytes, "'" + stored.name + "'");
}

}  // namespace kadam::io
