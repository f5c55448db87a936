// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bench/kernel_case.hpp>
#include <bench/measure.hpp>

#include <optional>
#include <string>
#include <vector>

namespace kadam::bench {

/// A case with what was measured.
struct KernelResult {
  std::string kernel;
  std::int64_t elements = 0;
  double bytes_per_element = 0.0;
  Timing seconds;
  std::optional<double> ratio_to_limit;  ///< 1: as fast as the limit lets its bytes be
};

/// Ratios to the limits that lie among the cases themselves.
[[nodiscard]] std::vector<KernelResult> results_of(const std::vector<KernelCase>& cases,
                                                   const std::vector<Timing>& timings);

/// For people: a line per kernel, and what is to be compared with another kernel of the same run.
[[nodiscard]] std::string table_of(const std::vector<KernelResult>& results);
/// For programs: a JSON object a line.
[[nodiscard]] std::string json_lines_of(const std::vector<KernelResult>& results);

}  // namespace kadam::bench
