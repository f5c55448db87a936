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

/// Seconds that a group of runs takes at least: a host's clock and, on a device, launches and fences are
/// little beside it, as they are beside groups between two events.
inline constexpr double shortest_group_seconds = kernels_run_on_host ? 1e-3 : 1e-2;

/// How many runs make a group, when one alone takes `seconds`.
[[nodiscard]] int runs_in_group(double seconds);

/// Runs all cases in turn, `repetitions` times, after one run that is not counted: what disturbs the machine
/// for a while disturbs all of them, and ratios stay true. Short runs are timed in groups, but for those that
/// need a preparation, on a host: on a device the time of as many preparations is taken off.
/// progress(repetition) is called before each turn.
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

/// Ratios to the limits that lie among the cases themselves: to the deep copy, where there is one.
[[nodiscard]] std::vector<KernelResult> results_of(const std::vector<KernelCase>& cases,
                                                   const std::vector<Timing>& timings);

/// For people: a line per kernel, and what is to be compared with another kernel of the same run.
[[nodiscard]] std::string table_of(const std::vector<KernelResult>& results);
/// For programs: a JSON object a line.
[[nodiscard]] std::string json_lines_of(const std::vector<KernelResult>& results);

}  // namespace kadam::bench
