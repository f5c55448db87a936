// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/active_mask.hpp>
#include <plan/collective_plans.hpp>
#include <plan/family_plans.hpp>

#include <stdexcept>
#include <string>

namespace kadam::plan::detail {
namespace {

std::size_t size(std::int64_t elements) {
  return static_cast<std::size_t>(elements);
}

std::size_t mask_bytes(const Problem& problem) {
  return sizeof(std::uint32_t) * size(ActiveMask<MemorySpace>::words_for(problem.elements));
}

Exchange pipelined(std::vector<Transfer> transfers) {
  return {Traffic::compressed, Hiding::pieces, std::move(transfers), 1, sizeof(float)};
}

/// Check, C-AR and decoding; what else there is, is the caller's.
StepPhase compressed_phase(const char* name, const Problem& problem, const CollectivePlan& mean,
                           std::string_view code) {
  StepPhase phase{name, 1.0, true, {{Kernel::check, all(problem)}}, {pipelined(mean.transfers)}};
  append(phase.work, mean.work);
  phase.work.push_back({decode_kernel(code), all(problem)});
  return phase;
}

CollectivePlan mean_of(const CodecOptions& codec, const Problem& problem) {
  return compressed_mean_plan(chunks_of(problem), codec.block, codec.code);
}

std::int64_t warmup_of(const StepsOrAuto& steps) {
  if (steps.automatic) {
    throw std::invalid_argument("kadam::plan: warmup_steps = \"auto\": a plan needs a number of steps");
  }
  return steps.steps;
}

/// Splits the run at the end of the warm-up.
std::vector<StepPhase> after_warmup(StepPhase warmup, StepPhase compressed, double share) {
  warmup.share = share;
  warmup.settled = false;
  compressed.share = 1.0 - share;
  return {std::move(warmup), std::move(compressed)};
}

/// How many steps of each kind a run of 0/1 Adam has; up to the freeze and after it.
struct ZeroOneSteps {
  double variance = 0.0;
  double early_syncs = 0.0;
  double syncs = 0.0;
  double local = 0.0;
};

ZeroOneSteps count_steps(const ZeroOnePolicy::Options& options, std::int64_t steps) {
  ZeroOneSteps count;
  ZeroOnePolicy policy(options);
  for (std::int64_t t = 1; t <= steps; ++t) {
    if (policy.is_variance_step(t)) {
      policy.take_variance_step();
      count.variance += 1.0;
    } else if (!policy.is_sync_step(t)) {
      count.local += 1.0;
      continue;
    } else {
      (t <= options.freeze ? count.early_syncs : count.syncs) += 1.0;
    }
    policy.synchronised_at(t);
  }
  return count;
}

}  // namespace

AlgorithmPlan plan_of(const FrozenVarianceAdam::Options& options, const Problem& problem) {
  const CommonOptions& common = options.common;
  const CollectivePlan mean = mean_of(options.codec, problem);
  const double share = share_until(warmup_of(options.variance.warmup_steps), problem, "warmup_steps");
  return {after_warmup(dense_phase("warm-up", common, problem, adam_kernel(common)),
                       compressed_phase("compressed", problem, mean, options.codec.code), share),
          {8 * size(problem.elements) + mean.state_bytes,
           dense_workspace(problem, common.gradients) + mean.workspace_bytes + mask_bytes(problem)}};
}

AlgorithmPlan plan_of(const ZeroOneAdam::Options& options, const Problem& problem) {
  constexpr double accumulation = 20.0 / 36.0;  // of a local step: the rest writes the working parameters
  constexpr double writes = 1.5;                // m, u and the caller's parameters, beside x
  (void)share_until(options.policy().freeze, problem, "variance_freeze_step");
  const ZeroOneSteps count = count_steps(options.policy(), problem.steps);
  const CollectivePlan mean = mean_of(options.codec, problem);
  const auto of_all = [&](double steps) { return steps / static_cast<double>(problem.steps); };

  StepPhase variance = dense_phase("variance", options.common, problem, adam_kernel(options.common));
  append(variance.work, {{Kernel::copy, all(problem)}, {Kernel::check, all(problem)}});
  variance.share = of_all(count.variance);
  variance.settled = false;
  StepPhase sync = compressed_phase("sync", problem, mean, options.codec.code);
  append(sync.work,
         {{Kernel::local_step, accumulation * all(problem)}, {Kernel::scale, writes * all(problem)}});
  StepPhase early = sync;
  early.share = of_all(count.early_syncs);
  early.settled = false;
  sync.share = of_all(count.syncs);
  const StepPhase local{"local",
                        of_all(count.local),
                        true,
                        {{Kernel::check, all(problem)}, {Kernel::local_step, all(problem)}},
                        {}};
  return {{std::move(variance), std::move(early), std::move(sync), local},
          {16 * size(problem.elements) + mean.state_bytes,
           dense_workspace(problem, NumberFormat::float32) + mean.workspace_bytes + mask_bytes(problem)}};
}

AlgorithmPlan plan_of(const OnebitLamb::Options& options, const Problem& problem) {
  const CollectivePlan mean = mean_of(options.codec, problem);
  StepPhase compressed = compressed_phase("compressed", problem, mean, options.codec.code);
  // The fresh variance is read and written where others update the parameters: 20 B instead of 12.
  append(compressed.work, {{Kernel::onebit_lamb_update, all(problem)}, {Kernel::scale, all(problem)}});
  const double share = share_until(warmup_of(options.variance.warmup_steps), problem, "warmup_steps");
  return {after_warmup(dense_phase("warm-up", options.common, problem, Kernel::lamb_update),
                       std::move(compressed), share),
          {12 * size(problem.elements) + mean.state_bytes,
           dense_workspace(problem, options.common.gradients) + mean.workspace_bytes + mask_bytes(problem)}};
}

AlgorithmPlan plan_of(const EfficientAdam::Options& options, const Problem& problem) {
  const CollectivePlan mean = mean_of(options.codec, problem);
  StepPhase phase = compressed_phase("compressed", problem, mean, options.codec.code);
  phase.work.push_back({Kernel::accumulate_direction, all(problem)});
  return {{std::move(phase)},
          {8 * size(problem.elements) + mean.state_bytes, mean.workspace_bytes + mask_bytes(problem)}};
}

AlgorithmPlan plan_of(const Loco::Options& options, const Problem& problem) {
  const bool rounds = options.parameters == "bf16" && problem.ranks > 1;
  const ChunkLayout chunks = chunks_of(problem);
  const CollectivePlan mean = low_bit_plan(chunks, options.block, options.code,
                                           rounds ? NumberFormat::bfloat16 : NumberFormat::float32);
  const std::int64_t own = chunks.chunk(0).elements();
  StepPhase phase{"compressed", 1.0, true, {{Kernel::check, all(problem)}}, {pipelined(mean.transfers)}};
  append(phase.work, mean.work);
  phase.work.push_back({Kernel::adam_update, static_cast<double>(own)});
  if (rounds) phase.work.push_back({Kernel::copy, all(problem) + static_cast<double>(own)});
  const std::size_t master = rounds ? sizeof(float) * size(own) : 0;
  const std::size_t rounded = rounds ? sizeof(Bfloat16) * size(problem.elements) : 0;
  return {{std::move(phase)},
          {8 * size(own) + master + mean.state_bytes, mean.workspace_bytes + rounded + mask_bytes(problem)}};
}

}  // namespace kadam::plan::detail
