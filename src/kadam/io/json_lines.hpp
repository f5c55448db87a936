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

/// One line of metrics: names and values in the order in which they are to appear.
using MetricValue = std::variant<std::int64_t, double, std::string>;
using Metrics = std::vector<std::pair<std::string, MetricValue>>;

/// Writes metrics as JSON lines, one object a line, flushed line by line: a run that is killed leaves whole
/// lines. A NaN or Inf becomes null: JSON has no other word for it.
class JsonLinesWriter {
 public:
  /// Errors: std::runtime_error with the file's name and the system's reason.
  explicit JsonLinesWriter(const std::filesystem::path& path);
  /// Goes on with a file that may be there: what is of steps after this one, or no whole line, is dropped.
  JsonLinesWriter(const std::filesystem::path& path, std::int64_t last_step);

  void write(const Metrics& metrics);

 private:
  std::filesystem::path path_;
  std::ofstream stream_;
};

}  // namespace kadam::io
