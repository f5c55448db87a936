// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/byte_file.hpp>
#include <workloads/cifar10.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace kadam::workloads {
namespace {

constexpr std::size_t pixels_per_record = std::size_t{3} * 32 * 32;
constexpr std::size_t record_bytes = 1 + pixels_per_record;
constexpr std::int64_t cifar_classes = 10;

ImageSet empty_set() {
  return {3, 32, 32, {}, {}};
}

}  // namespace

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
