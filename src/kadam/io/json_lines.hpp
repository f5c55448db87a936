// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kadam::io {

/// One line of metrics: names and values, in the order in which they are written.
using MetricValue = std::variant<std::int64_t, double, std::string>;
using Metrics = std::vector<std::pair<std::string, MetricValue>>;

/// Writes metrics as JSON lines, one object a line. Each line is flushed, so a run that is killed leaves
/// whole lines. A NaN or Inf becomes null, because JSON cannot express it.
class JsonLinesWriter {
 public:
  /// Begins a new file in place of an old one. Errors: std::runtime_error with the file's name and the
  /// system's reason, here as in all that follows.
  explicit JsonLinesWriter(const std::filesystem::path& path);
  /// Continues a file, if it exists. Its lines are kept whose "step" is at most last_step; lines of later
  /// steps, and lines that are incomplete or have no "step", are dropped.
  JsonLinesWriter(const std::filesystem::path& path, std::int64_t last_step);

  void write(const Metrics& metrics);

 private:
  std::filesystem::path path_;
  std::ofstream stream_;
};

}  // namespace kadam::io
