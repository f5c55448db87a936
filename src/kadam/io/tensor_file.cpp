// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/tensor_file.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace kadam::io {

static_assert(std::endian::native == std::endian::little, "kadam::io writes float32 as it lies in memory");

namespace detail {
namespace {

using nlohmann::json;

constexpr const char* metadata_key = "__metadata__";
constexpr std::uint64_t most_header_bytes = 100'000'000;  // as the format's reference reader
constexpr std::uint64_t header_begin = sizeof(std::uint64_t);

json read_header(HostFileReader& file) {
  std::array<std::uint64_t, 1> length{};
  file.read(std::as_writable_bytes(std::span(length)), "header length");
  if (length[0] > std::min(most_header_bytes, file.bytes_left())) {
    file.fail(0, "a header length of at most " +
                     std::to_string(std::min(most_header_bytes, file.bytes_left())) + ", found " +
                     std::to_string(length[0]));
  }
  std::string text(static_cast<std::size_t>(length[0]), '\0');
  file.read(std::as_writable_bytes(std::span(text)), "header");
  json header = json::parse(text, nullptr, false);
  if (!header.is_object()) {
    file.fail(header_begin, "a JSON object");
  }
  return header;
}

Metadata take_metadata(const HostFileReader& file, json& header) {
  Metadata metadata;
  const auto found = header.find(metadata_key);
  if (found == header.end()) {
    return metadata;
  }
  for (const auto& [key, value] : found->items()) {
    if (!found->is_object() || !value.is_string()) {
      file.fail(header_begin, "__metadata__ to be an object of strings");
    }
    metadata[key] = value.get<std::string>();
  }
  header.erase(found);
  return metadata;
}

bool is_count(const json& value) {
  return value.is_number_unsigned();
}

struct Type {
  const char* name;
  TensorType type;
  std::uint64_t bytes;
};
constexpr std::array<Type, 2> types = {{{"F32", TensorType::f32, 4}, {"U8", TensorType::u8, 1}}};

/// One entry of the header, its first and last byte.
struct Entry {
  StoredTensor tensor;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Entry parse_entry(const HostFileReader& file, const std::string& name, const json& value) {
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) {
      file.fail(header_begin, "tensor '" + name + "' to have " + what);
    }
  };
  expect(value.is_object() && value.size() == 3 && value.contains("dtype") && value.contains("shape") &&
             value.contains("data_offsets"),
         "dtype, shape and data_offsets and nothing else");
  const auto* const type = std::find_if(types.begin(), types.end(),
                                        [&](const Type& known) { return value["dtype"] == known.name; });
  expect(type != types.end(), "dtype F32 or U8");
  const json& shape = value["shape"];
  const json& offsets = value["data_offsets"];
  expect(shape.is_array() && std::all_of(shape.begin(), shape.end(), is_count),
         "a shape of extents of 0 or more");
  expect(offsets.is_array() && offsets.size() == 2 && is_count(offsets[0]) && is_count(offsets[1]),
         "two data_offsets of 0 or more");
  Entry entry{{name, type->type, 0}, offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
  expect(entry.begin <= entry.end && entry.end <= file.bytes_left(), "data_offsets within the file");
  std::uint64_t bytes = type->bytes;
  for (const json& extent : shape) {
    const auto factor = extent.get<std::uint64_t>();
    expect(factor == 0 || bytes <= file.bytes_left() / factor, "a shape that fits into the file");
    bytes *= factor;
  }
  expect(entry.end - entry.begin == bytes, "as many bytes as its shape says");
  entry.tensor.elements = static_cast<std::int64_t>(bytes / type->bytes);
  return entry;
}

std::vector<StoredTensor> read_tensors(const HostFileReader& file, const json& header) {
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    entries.push_back(parse_entry(file, name, value));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::vector<StoredTensor> tensors;
  std::uint64_t expected = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != expected) {
      file.fail(header_begin,
                "tensor '" + entry.tensor.name + "' to begin at byte " + std::to_string(expected) +
                    " of the data, where the one before it ends, found " + std::to_string(entry.begin));
    }
    tensors.push_back(entry.tensor);
    expected = entry.end;
  }
  if (expected != file.bytes_left()) {
    file.fail(file.offset(), std::to_string(expected) + " bytes of tensors as the header says, found " +
                                 std::to_string(file.bytes_left()));
  }
  return tensors;
}

}  // namespace

std::string safetensors_header_bytes(const std::vector<StoredTensor>& tensors, const Metadata& metadata) {
  json header = json::object();
  if (!metadata.empty()) {
    header[metadata_key] = metadata;
  }
  std::uint64_t begin = 0;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.name == metadata_key) {
      throw std::invalid_argument(
          "kadam::io::TensorFileWriter: the format reserves the name __metadata__: give the tensor another "
          "name");
    }
    const auto* const type = std::find_if(types.begin(), types.end(),
                                          [&](const Type& known) { return known.type == tensor.type; });
    const std::uint64_t end = begin + type->bytes * static_cast<std::uint64_t>(tensor.elements);
    header[tensor.name] = {
        {"dtype", type->name}, {"shape", {tensor.elements}}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception& error) {
    throw std::invalid_argument(
        std::string("kadam::io::TensorFileWriter: a tensor's name or the metadata cannot be written: ") +
        error.what());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes(sizeof(std::uint64_t), '\0');
  const std::uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + text;
}

SafetensorsHeader read_safetensors_header(HostFileReader& file) {
  json header = read_header(file);
  Metadata metadata = take_metadata(file, header);
  return {read_tensors(file, header), std::move(metadata)};
}

}  // namespace detail

TensorFileWriter::TensorFileWriter(const std::filesystem::path& path,
                                   const std::vector<StoredTensor>& tensors, const Metadata& metadata)
    : file_(path) {
  for (const StoredTensor& tensor : tensors) bytes_left_ += tensor.bytes();
  file_.write(detail::safetensors_header_bytes(tensors, metadata));
}

void TensorFileWriter::write(std::span<const std::byte> bytes) {
  if (bytes.size() > bytes_left_)
    throw std::logic_error("kadam::io::TensorFileWriter: write() got more bytes than the tensors have");
  file_.write(bytes);
  bytes_left_ -= bytes.size();
}

void TensorFileWriter::commit() {
  if (bytes_left_ > 0)
    throw std::logic_error(
        "kadam::io::TensorFileWriter: commit() came before all bytes of the tensors were written");
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
    file_.fail(begins_[index], "all elements of '" + stored.name + "' that this read needs, found " +
                                   std::to_string(stored.elements));
  }
  file_.seek(begins_[index] + skipped);
  file_.read(bytes, "'" + stored.name + "'");
}

}  // namespace kadam::io
