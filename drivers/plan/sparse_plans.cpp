// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <plan/collective_plans.hpp>
#include <plan/family_plans.hpp>

#include <stdexcept>

namespace kadam::plan::detail {
namespace {

SparseOptions sparse_options(const LocalMomentsAdam::Options& options) {
  return {options.density, options.select_block, options.exchange};
}

bool delays_variance(const LocalMomentsAdam::Options& options, const Problem& problem) {
  return options.variance_delay > 0 && problem.ranks > 1;
}

std::vector<Work> once_in(std::int64_t steps, std::vector<Work> work) {
  for (Work& one : work) one.elements /= static_cast<double>(steps);
  return work;
}

/// Exact means of the variance now and then. If they are not delayed, the step waits for them.
void add_variance_syncs(const LocalMomentsAdam::Options& options, const Problem& problem, StepPhase& phase) {
  const std::int64_t every = options.variance_sync_interval;
  if (every == 0) return;
  const CollectivePlan mean =
      dense_mean_plan(chunks_of(problem), NumberFormat::float32, NumberFormat::float32);
  append(phase.work, once_in(every, mean.work));
  append(phase.work, once_in(every, {{Kernel::copy, all(problem)}, {Kernel::scale, 2.0 * all(problem)}}));
  if (!delays_variance(options, problem)) {
    phase.exchanges.push_back({Traffic::dense, Hiding::nothing, mean.transfers, every, sizeof(float)});
    return;
  }
  append(phase.work, once_in(every, {{Kernel::copy, 3.0 * all(problem)}, {Kernel::scale, all(problem)}}));
  phase.exchanges.push_back({Traffic::background, Hiding::background, mean.transfers, every, sizeof(float),
                             options.variance_delay});
}

/// What both algorithms have in common.
AlgorithmPlan local_moments_plan(const LocalMomentsAdam::Options& options, const Problem& problem) {
  const CollectivePlan sparse = sparse_mean_plan(problem.exchanged, problem.ranks, sparse_options(options));
  StepPhase phase{"compressed",
                  1.0,
                  true,
                  {{Kernel::check, all(problem)}, {Kernel::accumulate_direction, all(problem)}},
                  {{Traffic::sparse, Hiding::nothing, sparse.transfers, 1, sizeof(float)}}};
  append(phase.work, sparse.work);
  if (options.common.weight_decay > 0.0) phase.work.push_back({Kernel::scale, all(problem)});
  add_variance_syncs(options, problem, phase);
  AlgorithmPlan plan;
  if (options.warmup_steps > 0) {
    StepPhase warmup = dense_phase("warm-up", options.common, problem, adam_kernel(options.common));
    warmup.share = share_until(options.warmup_steps, problem, "warmup_steps");
    warmup.settled = false;
    phase.share = 1.0 - warmup.share;
    plan.phases.push_back(std::move(warmup));
  }
  plan.phases.push_back(std::move(phase));
  plan.memory = {8 * static_cast<std::size_t>(problem.elements),
                 dense_workspace(problem, NumberFormat::float32) + sparse.workspace_bytes};
  if (delays_variance(options, problem)) {
    plan.memory.state_bytes += 4 * static_cast<std::size_t>(problem.elements);
    plan.memory.workspace_bytes += dense_workspace(problem, NumberFormat::float32);
  }
  return plan;
}

}  // namespace

AlgorithmPlan plan_of(const LocallyAccumulatedAdam::Options& options, const Problem& problem) {
  AlgorithmPlan plan = local_moments_plan(options, problem);
  const auto d = static_cast<std::size_t>(problem.elements);
  plan.memory.state_bytes += 4 * d;
  if (options.step_ahead > 0.0 && problem.ranks > 1) {
    plan.memory.state_bytes += 4 * d;
    plan.phases.back().work.push_back({Kernel::copy, 1.5 * all(problem)});
  }
  return plan;
}

AlgorithmPlan plan_of(const DivisibleAdam::Options& options, const Problem& problem) {
  if (options.background_steps.automatic) {
    throw std::invalid_argument("kadam::plan: background_steps = \"auto\": expected a number of steps here");
  }
  AlgorithmPlan plan = local_moments_plan(options, problem);
  plan.memory.state_bytes += 16 * static_cast<std::size_t>(problem.elements);
  const std::int64_t every = options.background_steps.steps;
  const CollectivePlan mean =
      dense_mean_plan(chunks_of(problem), NumberFormat::float32, NumberFormat::float32);
  // The background's own parts; its result is state.
  if (problem.ranks > 1)
    plan.memory.workspace_bytes += mean.workspace_bytes - 4 * static_cast<std::size_t>(problem.elements);
  StepPhase& phase = plan.phases.back();
  phase.work.push_back({Kernel::copy, 2.0 * all(problem)});
  append(phase.work, once_in(every, mean.work));
  append(phase.work, once_in(every, {{Kernel::copy, 3.5 * all(problem)}}));
  phase.exchanges.push_back({Traffic::background, Hiding::background, mean.transfers, every, sizeof(float)});
  return plan;
}

}  // namespace kadam::plan::detail
