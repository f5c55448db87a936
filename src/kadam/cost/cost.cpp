// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/cost/cost.hpp>

#include <algorithm>

namespace kadam {

void StepPhase::add(const Cost& collective, Hiding hiding) {
  PlannedExchange when;
  when.hiding = hiding;
  add(collective, when);
}

void StepPhase::add(const Cost& collective, const PlannedExchange& when) {
  for (const Work& one : collective.work) {
    work.push_back({one.kernel, one.elements / static_cast<double>(when.every)});
  }
  if (collective.transfers.empty()) return;
  exchanges.push_back(when);
  exchanges.back().transfers = collective.transfers;
}

std::function<StepCount(std::int64_t)> steps_until(std::int64_t until) {
  return [until](std::int64_t steps) { return StepCount{static_cast<double>(std::min(until, steps)), 0.0}; };
}

std::function<StepCount(std::int64_t)> steps_after(std::int64_t until) {
  return [until](std::int64_t steps) {
    const auto left = static_cast<double>(std::max(steps - until, std::int64_t{0}));
    return StepCount{left, left};
  };
}

}  // namespace kadam
