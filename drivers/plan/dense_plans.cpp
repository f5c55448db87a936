// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <plan/collective_plans.hpp>
#include <plan/family_plans.hpp>

#include <stdexcept>
#include <string>

namespace kadam::plan::detail {

ChunkLayout chunks_of(const Problem& problem) {
  return {problem.exchanged, problem.ranks};
}

Kernel adam_kernel(const CommonOptions& common) {
  return common.gradients == NumberFormat::float32 ? Kernel::adam_update : Kernel::adam_update_half;
}

std::size_t dense_workspace(const Problem& problem, NumberFormat widest) {
  return dense_mean_plan(chunks_of(problem), widest, widest).workspace_bytes;
}

double share_until(std::int64_t until, const Problem& problem, const char* option) {
  if (until >= problem.steps) {
    std::string text = "kadam::plan: ";
    text.append(option).append(" = ").append(std::to_string(until)).append(" in a run of ");
    throw std::invalid_argument(
        text.append(std::to_string(problem.steps)).append(" steps: nothing would be left to compress"));
  }
  return static_cast<double>(until) / static_cast<double>(problem.steps);
}

void append(std::vector<Work>& work, const std::vector<Work>& more) {
  work.insert(work.end(), more.begin(), more.end());
}

StepPhase dense_phase(const char* name, const CommonOptions& common, const Problem& problem, Kernel update) {
  const CollectivePlan mean = dense_mean_plan(chunks_of(problem), common.gradients, common.gradients);
  StepPhase phase{name, 1.0, true, {{Kernel::check, all(problem)}}, {}};
  append(phase.work, mean.work);
  if (common.clip_norm > 0.0) phase.work.push_back({Kernel::check, all(problem)});
  phase.work.push_back({update, all(problem)});
  phase.exchanges = {
      {Traffic::dense, Hiding::backward, mean.transfers, 1, bytes_per_number(common.gradients)}};
  return phase;
}

AlgorithmPlan plan_of(const Adam::Options& options, const Problem& problem) {
  const auto d = static_cast<std::size_t>(problem.elements);
  return {{dense_phase("dense", options.common, problem, adam_kernel(options.common))},
          {8 * d, dense_workspace(problem, options.common.gradients)}};
}

AlgorithmPlan plan_of(const Lamb::Options& options, const Problem& problem) {
  const auto d = static_cast<std::size_t>(problem.elements);
  return {{dense_phase("dense", options.common, problem, Kernel::lamb_update)},
          {8 * d, dense_workspace(problem, options.common.gradients)}};
}

}  // namespace kadam::plan::detail
