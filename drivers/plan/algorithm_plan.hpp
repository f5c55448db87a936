// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/optimizer.hpp>
#include <plan/step_phase.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace kadam::plan {

/// Who exchanges how much.
struct Problem {
  std::int64_t elements = 0;   ///< d, which every rank updates
  std::int64_t exchanged = 0;  ///< what a rank takes part in exchanging: d, or d/g behind a dense level
  int ranks = 1;               ///< that exchange it: n, or the number of nodes
  std::int64_t steps = 1;      ///< of the whole run

  /// One level: all ranks exchange everything.
  [[nodiscard]] static Problem flat(std::int64_t elements, int ranks, std::int64_t steps) {
    return {elements, elements, ranks, steps};
  }
};

/// What an optimizer does in its steps, and what it holds, without making one.
struct AlgorithmPlan {
  std::vector<StepPhase> phases;  ///< their shares add up to 1
  MemoryUse memory;               ///< as Optimizer::memory() of rank 0, but for a few KB of partial sums
};

/// The plan of an optimizer with its options, as make_optimizer() takes them. Bytes are those of
/// Optimizer::traffic_plan(), exactly, and come from the same layouts.
///
/// Errors: std::invalid_argument for an unknown name or option, a warm-up that is "auto" or longer than the
/// run, background_steps = "auto" (predict() resolves it), and dense_below, which needs the tensors.
[[nodiscard]] AlgorithmPlan plan_algorithm(std::string_view name, const OptionMap& options,
                                           const Problem& problem);

}  // namespace kadam::plan
