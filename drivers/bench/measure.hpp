// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bench/kernel_case.hpp>
#include <launch/timing.hpp>

#include <functional>
#include <vector>

namespace kadam::bench {

using launch::Timing;

/// Runs all cases in turn, `repetitions` times, after one run that is not counted: what disturbs the machine
/// for a while disturbs all of them, and ratios stay true. Runs shorter than a millisecond are timed in
/// groups. progress(repetition) is called before each turn.
[[nodiscard]] std::vector<Timing> measure(const std::vector<KernelCase>& cases, int repetitions,
                                          const std::function<void(int)>& progress);

}  // namespace kadam::bench
