// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/images.hpp>

#include <filesystem>

namespace kadam::workloads {

/// Reads one file of CIFAR-10's binary version, plain or gzip-compressed, and appends it to `set`. A record
/// is one label (0 to 9) and 3 x 32 x 32 pixels, plane by plane: 3073 bytes.
///
/// Errors: std::runtime_error that names the file, the offset and what was expected there.
void append_cifar10(const std::filesystem::path& path, ImageSet& set);

/// CIFAR-10 from a folder with data_batch_1.bin to data_batch_5.bin (at least the first) and test_batch.bin.
///
/// Errors: std::runtime_error, as `append_cifar10`, and when a file is missing.
[[nodiscard]] ImageDataset read_cifar10_dataset(const std::filesystem::path& folder);

}  // namespace kadam::workloads
