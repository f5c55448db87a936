// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/efficient_adam.hpp>
#include <kadam/kernels/adam_direction.hpp>
#include <kadam/kernels/element_of.hpp>

namespace kadam {
namespace {

struct DecayAndSubtract {
  Vector<float> x;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean,
                                              const WeightDecay& decay) const {
    x(i) = decay.factor * x(i) - mean;
  }
};

/// What is never compressed: tensors kept dense, and those that do not move, which a 1-bit code could not
/// say.
std::vector<ElementRange> left_out(const ResolvedGroups& groups) {
  std::vector<ElementRange> ranges = groups.dense;
  for (const Segment& segment : groups.segments) {
    if (segment.lr_scale == 0.0) ranges.push_back(segment.range);
  }
  return ranges;
}

}  // namespace

void EfficientAdam::Options::describe(OptionFields& fields) {
  common.describe(fields);
  codec.describe(fields);
}

AlgorithmCost EfficientAdam::cost(const Options& options, const Problem& problem) {
  AlgorithmCost cost;
  cost.phases = {GroupedMean::phase("compressed", options.codec, problem, cost.memory)};
  cost.phases.back().add({cost::accumulate_direction, problem.all()});
  cost.memory.state_bytes += problem.vectors(2);
  return cost;
}

EfficientAdam::EfficientAdam(const Options& options, Workplace& at) : Algorithm(at) {
  const ExecutionSpace exec;
  moments_ = Moments::zeros(exec, "kadam::EfficientAdam", elements());
  mean_ = GroupedMean(exec, options.codec, communicator(), elements(), groups(), left_out(groups()));
  exec.fence("kadam::EfficientAdam");
}

void EfficientAdam::advance(Step& step) {
  step.result.phase = "compressed";
  step.result.gradient_scale = clip_factor(step.result.gradient_norm);
  accumulate(step);
  const UpdateBySegment<MemorySpace, WeightDecayOf, DecayAndSubtract> update{
      step.by_segment(WeightDecayOf{step.gamma()}), {step.x()}};
  mean_.exchange_kept(step, ElementOf<MemorySpace>{mean_.compressed().accumulator()});
  mean_.exchange_accumulated(step, [&](const ElementRange& arrived) { mean_.decode(step, arrived, update); });
  mean_.decode_kept(step, update);
}

void EfficientAdam::accumulate(const Step& step) {
  const auto scope = step.enter(Phase::encode);
  const MomentUpdate moments{Ema::make(common().beta1), Ema::make(common().beta2), step.gradient_scale()};
  const auto direction = AdamDirectionOf::make(1.0, step.gamma(), common().eps, step.first_correction(),
                                               step.second_correction());
  accumulate_adam_direction(step.exec, step.by_segment(MomentsAndDirectionOf{moments, direction}), moments_.m,
                            moments_.v, step.gradient, mean_.compressed().accumulator());
}

void EfficientAdam::describe_state(const ExecutionSpace& /*exec*/, StateFields& fields) {
  moments_.describe_own_state(fields);
  mean_.compressed().describe_state(fields);
}

void EfficientAdam::add_health(const ExecutionSpace& exec, Health& health) {
  health.error_ratio = error_ratio(exec, mean_);
  health.variance_spread = spread_over_ranks(one_norm(exec, moments_.v));
}

}  // namespace kadam
