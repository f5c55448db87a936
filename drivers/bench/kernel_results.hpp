// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bench/kernel_cases.hpp>
#include <launch/timing.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kadam::bench {

using launch::Timing;

/// Runs all cases in turn, `repetitions` times, after one run that is not counted: what disturbs the machine
/// for a while disturbs all of them, and ratios stay true. Runs shorter than a millisecond are timed in
/// groups. progress(repetition) is called before each turn.
[[nodiscard]] std::vector<Timing> measure(const std::vector<KernelCase>& cases, int repetitions,
                                          const std::function<void(int)>& progress);

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
