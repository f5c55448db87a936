// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/byte_file.hpp>
#include <workloads/image_files.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace kadam::workloads {
namespace {

std::filesystem::path find_file(const std::filesystem::path& folder, const std::string& name) {
  for (const char* suffix : {"", ".gz"}) {
    std::filesystem::path path = folder / (name + suffix);
    if (std::filesystem::is_regular_file(path)) {
      return path;
    }
  }
  throw std::runtime_error(folder.string() + ": expected a file " + name + " or " + name +
                           ".gz in this folder");
}

std::int64_t read_extent(ByteFile& file) {
  std::array<std::uint8_t, 4> bytes{};
  file.read(bytes, "the extent of a dimension");
  std::uint32_t extent = 0;
  for (const std::uint8_t byte : bytes) {
    extent = (extent << 8) | byte;
  }
  if (extent == 0) {
    file.fail(file.offset() - bytes.size(), "an extent of at least 1, found 0");
  }
  return extent;
}

ImageSet read_image_set(const std::filesystem::path& folder, const std::string& prefix) {
  const std::filesystem::path image_path = find_file(folder, prefix + "-images-idx3-ubyte");
  const std::filesystem::path label_path = find_file(folder, prefix + "-labels-idx1-ubyte");
  IdxArray images = read_idx(image_path, 3);
  IdxArray labels = read_idx(label_path, 1);
  if (images.extents[0] != labels.extents[0]) {
    throw std::runtime_error(label_path.string() + ": at byte 4: expected " +
                             std::to_string(images.extents[0]) + " labels, one for each image in " +
                             image_path.filename().string() + ", found " + std::to_string(labels.extents[0]));
  }
  return {1, images.extents[1], images.extents[2], std::move(images.bytes), std::move(labels.bytes)};
}

constexpr std::size_t pixels_per_record = std::size_t{3} * 32 * 32;
constexpr std::size_t record_bytes = 1 + pixels_per_record;
constexpr std::int64_t cifar_classes = 10;

ImageSet empty_set() {
  return {3, 32, 32, {}, {}};
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& path, std::size_t dimensions) {
  ByteFile file(path);
  std::array<std::uint8_t, 4> magic{};
  file.read(magic, "IDX header");
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 0x08) {
    file.fail(0, "the bytes 0, 0, 8 of an IDX file of unsigned bytes, found " + std::to_string(magic[0]) +
                     ", " + std::to_string(magic[1]) + ", " + std::to_string(magic[2]));
  }
  if (magic[3] != dimensions) {
    file.fail(3, std::to_string(dimensions) + " dimensions, found " + std::to_string(magic[3]));
  }
  IdxArray array;
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::int64_t extent = read_extent(file);
    if (static_cast<std::uint64_t>(extent) > std::numeric_limits<std::uint64_t>::max() / elements) {
      file.fail(file.offset() - 4, "extents whose product is below 2^64");
    }
    elements *= static_cast<std::uint64_t>(extent);
    array.extents.push_back(extent);
  }
  array.bytes = file.read_block(elements, "elements");
  file.expect_end();
  return array;
}

ImageDataset read_idx_dataset(const std::filesystem::path& folder) {
  ImageSet training = read_image_set(folder, "train");
  ImageSet held_out = read_image_set(folder, "t10k");
  const std::int64_t classes = 1 + *std::max_element(training.labels.begin(), training.labels.end());
  try {
    return ImageDataset(folder.string(), std::move(training), std::move(held_out), classes);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(folder.string() + ": " + error.what());
  }
}

void append_cifar10(const std::filesystem::path& path, ImageSet& set) {
  ByteFile file(path);
  const std::vector<std::uint8_t> bytes = file.read_rest();
  if (bytes.empty() || bytes.size() % record_bytes != 0) {
    file.fail(bytes.size(),
              "the end of a record of " + std::to_string(record_bytes) + " bytes, found the end of the file");
  }
  for (std::size_t begin = 0; begin < bytes.size(); begin += record_bytes) {
    if (bytes[begin] >= cifar_classes) {
      file.fail(begin, "a label from 0 to 9, found " + std::to_string(bytes[begin]));
    }
    const auto record = bytes.begin() + static_cast<std::ptrdiff_t>(begin);
    set.labels.push_back(bytes[begin]);
    set.pixels.insert(set.pixels.end(), record + 1, record + static_cast<std::ptrdiff_t>(record_bytes));
  }
}

ImageDataset read_cifar10_dataset(const std::filesystem::path& folder) {
  ImageSet training = empty_set();
  for (int i = 1; i <= 5; ++i) {
    const std::filesystem::path path = folder / ("data_batch_" + std::to_string(i) + ".bin");
    if (i == 1 || std::filesystem::exists(path)) {
      append_cifar10(path, training);
    }
  }
  ImageSet held_out = empty_set();
  append_cifar10(folder / "test_batch.bin", held_out);
  return ImageDataset(folder.string(), std::move(training), std::move(held_out), cifar_classes);
}

}  // namespace kadam::workloads
