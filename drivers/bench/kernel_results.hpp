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

/// Least seconds of a group of runs between two fences: the clock, and on a device launches and fences, are
/// short beside it.
inline constexpr double shortest_group_seconds = kernels_run_on_host ? 1e-3 : 1e-2;

/// Number of runs in a group if one run takes `seconds`.
[[nodiscard]] int runs_in_group(double seconds);

/// Runs all cases in turn, `repetitions` times, so that a disturbance of the machine meets all cases and
/// ratios stay true. Runs before that are not counted. Short runs are timed in groups. A case with a
/// preparation is timed run by run on a host; on a device in groups, less the time of the same number of
/// preparations. progress(repetition) is called before each turn. Returns a timing of one run for each case.
[[nodiscard]] std::vector<Timing> measure(const std::vector<KernelCase>& cases, int repetitions,
                                          const std::function<void(int)>& progress);

/// The measurement of a case.
struct KernelResult {
  std::string kernel;
  std::int64_t elements = 0;
  double bytes_per_element = 0.0;
  Timing seconds;
  std::optional<double> ratio_to_limit;  ///< bytes per second / those of its Limit; 1: as fast
};

/// Results with their ratios to the limits, which are among the cases: to the deep copy if it is there.
[[nodiscard]] std::vector<KernelResult> results_of(const std::vector<KernelCase>& cases,
                                                   const std::vector<Timing>& timings);

/// Text for people: a line per kernel, and comparisons between kernels of the same run.
[[nodiscard]] std::string table_of(const std::vector<KernelResult>& results);
/// Text for programs: one JSON object per line. compared_with: the kernel with which the table compares this
/// one, if there is one.
[[nodiscard]] std::string json_lines_of(const std::vector<KernelResult>& results);

}  // namespace kadam::bench
