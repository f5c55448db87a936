// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <workloads/dataset.hpp>
#include <workloads/text.hpp>

namespace kadam::workloads {

/// Which data, and where they are.
struct DataOptions {
  std::string kind = "idx";  ///< idx (MNIST and its relatives), cifar10 or text
  std::string path;          ///< a folder (idx: Debian's Fashion-MNIST if empty; cifar10), or a file (text)
  TextOptions text;

  /// Errors: std::invalid_argument for an unknown kind, a missing path or text options that cannot be.
  void validate() const;
};

/// Reads the data set.
///
/// Errors: those of `DataOptions::validate`; std::runtime_error when files are missing or malformed.
[[nodiscard]] std::unique_ptr<Dataset> make_dataset(const DataOptions& options);

}  // namespace kadam::workloads
