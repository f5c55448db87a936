// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/frozen_momentum.hpp>
#include <kadam/algorithms/frozen_variance_adam.hpp>

#include <utility>

namespace kadam {
namespace {

/// m(i) <- load(i) for active elements.
template <class Load>
void write_first_input(const ExecutionSpace& exec, const Load& load, const ActiveMask<MemorySpace>& active,
                       const Vector<float>& m) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::FrozenVarianceAdam::write_first_input", Policy(exec, 0, static_cast<std::int64_t>(m.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        if (active(i)) m(i) = load(i);
      });
}

/// An update by the AdamApply of each segment. Corrections are folded into m and v.
template <class Update>
UpdateBySegment<MemorySpace, AdamApplyOf, Update> by_adam(const Step& step, const Update& update) {
  return {step.by_segment(AdamApplyOf::make(step.gamma(), step.common.eps, 1.0, 1.0)), update};
}

/// m <- m (sqrt(v) + eps) for active elements.
void undo_preconditioning(const ExecutionSpace& exec, const ActiveMask<MemorySpace>& active,
                          const Vector<const float>& v, float eps, const Vector<float>& m) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::FrozenVarianceAdam::undo_preconditioning",
      Policy(exec, 0, static_cast<std::int64_t>(m.extent(0))), KOKKOS_LAMBDA(const std::int64_t i) {
        if (active(i)) m(i) *= Kokkos::sqrt(v(i)) + eps;
      });
}

/// x, m, v <- AdamStep(g), by the rule of the segment. Tensors kept dense get theirs from an exact mean.
struct AdamOfMean {
  Vector<float> x;
  Vector<float> m;
  Vector<float> v;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float g,
                                              const AdamStep& adam) const {
    adam(x(i), m(i), v(i), g);
  }
  KOKKOS_FORCEINLINE_FUNCTION void inactive(const std::int64_t /*i*/, const AdamStep& /*adam*/) const {}
};

}  // namespace

void FrozenVarianceAdam::Options::describe(OptionFields& fields) {
  common.describe(fields);
  codec.describe(fields);
  variance.describe(fields);
  fields.add("precondition", precondition, "compress the momentum divided by the root of the variance");
}

void FrozenVarianceAdam::Options::validate(std::string_view owner) const {
  codec.validate(owner);
  variance.validate(owner);
  require_option(codec.errors == NumberFormat::float32 || variance.warmup_code == WarmupMean::no_code, owner,
                 "options 'errors' and 'warmup_code': a warm-up with a code adds gradients to the errors, "
                 "which must then be float32: leave out one of the two");
}

void FrozenVarianceAdam::Apmsqueeze::validate(std::string_view owner) const {
  Options::validate(owner);
  require_option(!common.bias_correction, owner,
                 "option 'bias_correction': apmsqueeze has no bias correction: leave the option out, or use "
                 "onebit_adam");
  require_option(
      !variance.warmup_steps.automatic, owner,
      "option 'warmup_steps': apmsqueeze does not take \"auto\": give a number of steps, or use onebit_adam");
}

AlgorithmCost FrozenVarianceAdam::cost(const Options& options, const Problem& problem) {
  AlgorithmCost cost;
  // A decoded gradient updates x, m and v, 24 B, where others update x by v.
  const Work moments{cost::scale, 1.5 * problem.all()};
  StepPhase warmup = WarmupMean::phase(options.variance.warmup_code, options.codec, options.common, problem,
                                       adam_kernel(options.common), moments, cost.memory);
  StepPhase compressed = GroupedMean::phase("compressed", options.codec, problem, cost.memory);
  options.variance.divide(warmup, compressed);
  cost.phases = {std::move(warmup), std::move(compressed)};
  cost.memory.state_bytes += problem.vectors(2);
  return cost;
}

FrozenVarianceAdam::FrozenVarianceAdam(const Options& options, Workplace& at)
    : Algorithm(at), options_(options), variance_(options.variance, options.common) {
  const ExecutionSpace exec;
  moments_ = Moments::zeros(exec, "kadam::FrozenVarianceAdam", elements());
  mean_ = GroupedMean(exec, options.codec, communicator(), elements(), groups(), groups().dense);
  warmup_mean_ = WarmupMean(exec, options.variance.warmup_code, options.codec, common(), communicator(),
                            elements(), groups(), mean_);
  exec.fence("kadam::FrozenVarianceAdam");
}

void FrozenVarianceAdam::advance(Step& step) {
  variance_.add_norm(step.result.gradient_norm);
  if (variance_.is_frozen()) {
    compressed_step(step);
    return;
  }
  warm_up(step);
  if (variance_.warm_up_ends(step, [&] { return one_norm(step.exec, moments_.v); })) {
    variance_.freeze(step, moments_, mean_);
    warmup_mean_.forget_owed(step.exec);
  }
}

void FrozenVarianceAdam::warm_up(Step& step) {
  step.result.phase = "warm-up";
  if (!warmup_mean_.has_code()) {
    dense_adam_step(step, *warmup_mean_.dense(), moments_);
    return;
  }
  step.result.gradient_scale = clip_factor(step.result.gradient_norm);
  auto adam = step.adam_rule();
  adam.rule_of.gradient_scale = 1.0F;  // g is a mean of scaled gradients
  const auto& [m, v] = moments_;
  using Update = WithCopy<MemorySpace, AdamOfMean>;
  warmup_mean_.exchange(step, UpdateBySegment<MemorySpace, AdamStepOf, Update>{
                                  adam, {{step.x(), m, v}, step.parameters.copy()}});
}

void FrozenVarianceAdam::compressed_step(Step& step) {
  step.result.phase = "compressed";
  step.result.gradient_scale = clip_factor(step.result.gradient_norm);
  const auto& [m, v] = moments_;
  const HalfCopy<MemorySpace>& copy = step.parameters.copy();
  const auto eps = static_cast<float>(common().eps);
  const LocalMomentum y{Ema::make(common().beta1), step.gradient_scale()};
  const FromMomentum first_y{y, m};
  mean_.exchange_kept(step, OfNumbers<MemorySpace, FromMomentum>{step.gradient, first_y});
  if (options_.precondition) {
    exchange(step, PreconditionedMomentum{y, v, eps}, PreconditionedFromMomentum{first_y, v, eps},
             PreconditionedUpdate{step.x(), v});
  } else {
    exchange(step, y, first_y, FrozenUpdate{step.x(), v});
  }
  mean_.decode_kept(step, by_adam(step, KeptDenseUpdate{{{step.x(), v}, copy}, m}));
}

template <class Rule, class FirstRule, class Update>
void FrozenVarianceAdam::exchange(const Step& step, const Rule& y, const FirstRule& first_y,
                                  const Update& update) {
  const auto rule = by_adam(step, WithCopy<MemorySpace, Update>{update, step.parameters.copy()});
  const auto arrived = [&](const ElementRange& range) { mean_.decode(step, range, rule); };
  if (momentum_is_in_message_) {
    mean_.exchange_continued(step, OfNumbers<MemorySpace, Rule>{step.gradient, y}, arrived);
  } else {
    {
      const auto scope = step.enter(Phase::encode);
      write_first_input(step.exec, OfNumbers<MemorySpace, FirstRule>{step.gradient, first_y}, mean_.active(),
                        moments_.m);
    }
    mean_.exchange(step, moments_.m, arrived);
  }
  momentum_is_in_message_ = true;
}

void FrozenVarianceAdam::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  variance_.describe_state(fields);
  fields.number("momentum_is_in_message", momentum_is_in_message_);
  if (fields.saves() && momentum_is_in_message_) write_momentum(exec);
  moments_.describe_state(fields);
  mean_.compressed().describe_numbers(fields);
  if (variance_.is_frozen()) {
    mean_.compressed().describe_state(exec, fields);
  } else {
    warmup_mean_.describe_state(exec, fields);
  }
  if (momentum_is_in_message_) mean_.compressed().describe_message(fields);
}

void FrozenVarianceAdam::write_momentum(const ExecutionSpace& exec) const {
  const auto& [m, v] = moments_;
  mean_.compressed().write_mean(exec, mean_.active(), m);
  if (options_.precondition) {
    undo_preconditioning(exec, mean_.active(), v, static_cast<float>(common().eps), m);
  }
}

void FrozenVarianceAdam::adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                                     const Restoration& restoration) {
  if (variance_.is_frozen()) mean_.compressed().adopt_state(exec, fields);
  variance_.adopt_state(exec, moments_, mean_);
  momentum_is_in_message_ = momentum_is_in_message_ && restoration.to_the_last_bit;
}

void FrozenVarianceAdam::add_health(const ExecutionSpace& exec, Health& health) {
  if (!variance_.is_frozen()) {
    if (warmup_mean_.has_code()) health.error_ratio = error_ratio(exec, warmup_mean_.coded());
    return;
  }
  health.variance_drift = variance_.drift();
  health.error_ratio = error_ratio(exec, mean_);
  if (momentum_is_in_message_) write_momentum(exec);
  health.largest_step = largest_step(exec, moments_, 1.0);
}

}  // namespace kadam
