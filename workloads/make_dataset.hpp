// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/dataset.hpp>
#include <workloads/text.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace kadam::workloads {

/// Which data, and where they are.
struct DataOptions {
  std::string kind = "idx";  ///< idx (MNIST and its relatives), cifar10 or text
  std::string path;          ///< a folder (idx: Debian's Fashion-MNIST if empty; cifar10), or a file (text)
  TextOptions text;
  std::string task = "classify";  ///< images: classify (each image) or segment (each patch of it; idx alone)
  std::int64_t patch = 4;         ///< segment: side of the patches
  double dirichlet_alpha = 0.0;   ///< images: 0 or how equal the ranks' shares of each class are

  /// Errors: std::invalid_argument for an unknown kind or task, a missing path, options that cannot be or
  /// that do not go with the kind.
  void validate() const;
};

/// Reads the data set.
///
/// Errors: those of `DataOptions::validate`; std::runtime_error when files are missing or malformed.
[[nodiscard]] std::unique_ptr<Dataset> make_dataset(const DataOptions& options);

}  // namespace kadam::workloads
