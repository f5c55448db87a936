// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/dataset.hpp>
#include <workloads/text.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace kadam::workloads {

/// Kind, place and task of a data set.
struct DataOptions {
  std::string kind = "idx";  ///< idx (MNIST and its relatives), cifar10 or text
  std::string path;          ///< a folder (idx: Debian's Fashion-MNIST if empty; cifar10), or a file (text)
  TextOptions text;
  std::string task = "classify";  ///< images: classify (each image) or segment (each patch of it; idx alone)
  std::int64_t patch = 4;         ///< segment: side of the patches
  double dirichlet_alpha = 0.0;   ///< images: 0: equal shards; the smaller, the more they differ

  /// Errors: std::invalid_argument for an unknown kind or task, a missing path, and options that are out of
  /// range or do not fit the kind.
  void validate() const;
};

/// Reads the data set.
///
/// Errors: those of `DataOptions::validate`; std::runtime_error when files are missing or malformed.
[[nodiscard]] std::unique_ptr<Dataset> make_dataset(const DataOptions& options);

}  // namespace kadam::workloads
