// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/efficient_adam.hpp>
#include <kadam/kernels/element_of.hpp>
#include <kadam/kernels/factored_variance.hpp>

namespace kadam {
namespace {

struct DecayAndSubtract {
  Vector<float> x;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean,
                                              const WeightDecay& decay) const {
    x(i) = decay.factor * x(i) - mean;
  }
};

}  // namespace

void EfficientAdam::Options::describe(OptionFields& fields) {
  common.describe(fields);
  codec.describe(fields);
  add_variance(fields, variance);
  fields.add("variance_sync_interval", variance_sync_interval, Range::at_least(0),
             "steps between means of the factored variance over the ranks (0: never; auto: 10)");
}

void EfficientAdam::Options::validate(std::string_view owner) const {
  codec.validate(owner);
  require_option(
      factors_variance() || variance_sync_interval.automatic, owner,
      "option 'variance_sync_interval' needs variance = \"factored\": set that, or leave the option out");
}

AlgorithmCost EfficientAdam::cost(const Options& options, const Problem& problem) {
  AlgorithmCost cost;
  cost.phases = {GroupedMean::phase("compressed", options.codec, problem, cost.memory)};
  cost.phases.back().add({cost::accumulate_adam_direction, problem.all()});
  cost.memory.state_bytes += problem.vectors(options.factors_variance() ? 1 : 2);
  if (!options.factors_variance()) return cost;
  const std::vector<Tensor>& tensors = problem.layout.tensors();
  const Cost mean = FactoredVariance::cost(tensors, problem.ranks, problem.threads);
  cost.memory += mean.memory;
  cost.phases.back().add({cost::check, problem.all()});  // squares: a read
  const std::int64_t every = options.variance_interval();
  if (every == 0) return cost;
  PlannedExchange when;
  when.every = every;
  cost.phases.back().add(mean, when);
  for (const Work& work : FactoredVariance::work_of_average(tensors))
    cost.phases.back().add({work.kernel, work.elements / static_cast<double>(every)});
  return cost;
}

EfficientAdam::EfficientAdam(const Options& options, Workplace& at)
    : Algorithm(at),
      variance_interval_(options.variance_interval()),
      factors_variance_(options.factors_variance()) {
  const ExecutionSpace exec;
  if (factors_variance_) {
    moments_.m = allocate_zeros<float>(exec, "kadam::EfficientAdam::m", elements());
    factored_variance_ = FactoredVariance(exec, layout().tensors(), communicator());
  } else {
    moments_ = Moments::zeros(exec, "kadam::EfficientAdam", elements());
  }
  mean_ =
      GroupedMean(exec, options.codec, communicator(), elements(), groups(), still_or_kept_dense(groups()));
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
  const auto direction = AdamDirectionOf::make(1.0, step.gamma(), common().eps, step.first_correction(),
                                               step.second_correction());
  if (factors_variance_) {
    accumulate_by_factors(step, direction);
    return;
  }
  const auto scope = step.enter(Phase::encode);
  const MomentUpdate moments{Ema::make(common().beta1), Ema::make(common().beta2), step.gradient_scale()};
  accumulate_adam_direction(step.exec, step.by_segment(MomentsAndDirectionOf{moments, direction}), moments_.m,
                            moments_.v, step.gradient, mean_.compressed().accumulator());
}

void EfficientAdam::accumulate_by_factors(const Step& step, const AdamDirectionOf& direction) {
  {
    const auto scope = step.enter(Phase::encode);
    factored_variance_.update(step.exec, step.gradient, Ema::make(common().beta2), step.gradient_scale());
  }
  if (variance_interval_ > 0 && step.t % variance_interval_ == 0)
    factored_variance_.average(step.exec, step.phases);
  const auto scope = step.enter(Phase::encode);
  const MomentumAndDirectionOf rule{Ema::make(common().beta1), step.gradient_scale(), direction};
  accumulate_momentum_direction(step.exec, step.by_segment(rule), factored_variance_.factors(), moments_.m,
                                step.gradient, mean_.compressed().accumulator());
}

void EfficientAdam::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  if (factors_variance_) {
    fields.of_each_rank("m", moments_.m);
    factored_variance_.describe_state(fields);
  } else {
    moments_.describe_own_state(fields);
  }
  mean_.compressed().describe_state(exec, fields);
}

void EfficientAdam::add_health(const ExecutionSpace& exec, Health& health) {
  health.error_ratio = error_ratio(exec, mean_);
  health.variance_spread =
      spread_over_ranks(factors_variance_ ? factored_variance_.sum(exec) : one_norm(exec, moments_.v));
}

}  // namespace kadam
