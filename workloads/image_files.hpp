// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/images.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace kadam::workloads {

/// Where Debian's package dataset-fashion-mnist puts its files.
inline constexpr const char* default_idx_folder = "/usr/share/datasets/fashion-mnist";

/// An array of bytes in the IDX format of MNIST.
struct IdxArray {
  std::vector<std::int64_t> extents;
  std::vector<std::uint8_t> bytes;
};

/// Reads an IDX file of unsigned bytes, plain or gzip-compressed: two zero bytes, the element type 0x08, the
/// number of dimensions, each extent as a big-endian 32-bit number, the elements, the last dimension fastest.
///
/// Errors: std::runtime_error that names the file, the offset and what was expected there.
[[nodiscard]] IdxArray read_idx(const std::filesystem::path& path, std::size_t dimensions);

/// Reads MNIST or one of its relatives from a folder: train-images-idx3-ubyte, train-labels-idx1-ubyte,
/// t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, each plain or with .gz. The number of classes is the
/// largest training label
/// + 1.
///
/// Errors: std::runtime_error, as `read_idx`, and when a file is missing or counts do not agree.
[[nodiscard]] ImageDataset read_idx_dataset(const std::filesystem::path& folder = default_idx_folder);

/// Reads one file of CIFAR-10's binary version, plain or gzip-compressed, and appends it to `set`. A record
/// is one label (0 to 9) and 3 x 32 x 32 pixels, plane by plane: 3073 bytes.
///
/// Errors: std::runtime_error that names the file, the offset and what was expected there.
void append_cifar10(const std::filesystem::path& path, ImageSet& set);

/// Reads CIFAR-10 from a folder with data_batch_1.bin to data_batch_5.bin (at least the first) and
/// test_batch.bin.
///
/// Errors: std::runtime_error, as `append_cifar10`, and when a file is missing.
[[nodiscard]] ImageDataset read_cifar10_dataset(const std::filesystem::path& folder);

}  // namespace kadam::workloads
