// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/frozen_momentum.hpp>
#include <kadam/optim/frozen_variance_adam.hpp>

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

}  // namespace

void FrozenVarianceAdam::Options::describe(OptionFields& fields) {
  common.describe(fields);
  codec.describe(fields);
  variance.describe(fields);
  fields.add("precondition", precondition, "compress the momentum divided by the root of the variance");
}

void FrozenVarianceAdam::Options::validate(std::string_view owner) const {
  common.validate(owner);
  codec.validate(owner);
  variance.validate(owner);
}

void FrozenVarianceAdam::Apmsqueeze::validate() const {
  Options::validate("apmsqueeze");
  require_option(!common.bias_correction, "apmsqueeze",
                 "option 'bias_correction': the algorithm has none; leave it out, or use onebit_adam");
  require_option(!variance.warmup_steps.automatic, "apmsqueeze",
                 "option 'warmup_steps': \"auto\" is onebit_adam's: give a number of steps");
}

FrozenVarianceAdam::FrozenVarianceAdam(std::string_view name, const Options& options, TensorLayout layout,
                                       std::shared_ptr<Communicator> shared_communicator)
    : Optimizer(name, std::move(layout), std::move(shared_communicator), options.common),
      options_(options),
      variance_(options.variance, options.common) {
  const ExecutionSpace exec;
  moments_ = Moments::zeros(exec, "kadam::FrozenVarianceAdam", elements());
  dense_mean_ = DenseMean(exec, communicator(), elements(), common().gradients);
  mean_ = GroupedMean(exec, options.codec, communicator(), elements(), groups(), groups().dense);
  exec.fence("kadam::FrozenVarianceAdam");
}

void FrozenVarianceAdam::advance(const ExecutionSpace& exec, const Parameters& parameters,
                                 const Gradient& gradient, StepResult& result) {
  variance_.add_norm(result.gradient_norm);
  if (variance_.is_frozen()) {
    compressed_step(exec, parameters, gradient, result);
    return;
  }
  result.phase = "warm-up";
  dense_adam_step(exec, dense_mean_, parameters, moments_, gradient, result);
  const std::int64_t t = steps_taken() + 1;
  if (variance_.warm_up_ends(t, common(), [&] { return one_norm(exec, moments_.v); })) {
    variance_.freeze(exec, t, common(), moments_, mean_);
  }
}

void FrozenVarianceAdam::compressed_step(const ExecutionSpace& exec, const Parameters& parameters,
                                         const Gradient& gradient, StepResult& result) {
  result.phase = "compressed";
  result.gradient_scale = clip_factor(result.gradient_norm);
  const auto& [m, v] = moments_;
  const Vector<float>& x = parameters.master();
  const auto eps = static_cast<float>(common().eps);
  const LocalMomentum y{Ema::make(common().beta1), static_cast<float>(result.gradient_scale)};
  const FromMomentum first_y{y, m};
  mean_.exchange_kept(exec, communicator(), phases(),
                      OfNumbers<MemorySpace, FromMomentum>{gradient, first_y});
  if (options_.precondition) {
    const WithCopy<MemorySpace, PreconditionedUpdate> rule{{x, v, {}}, parameters.copy()};
    exchange(exec, gradient, PreconditionedMomentum{y, v, eps}, PreconditionedFromMomentum{first_y, v, eps},
             [&](const ElementRange& arrived) { update(exec, arrived, rule, result); });
  } else {
    const WithCopy<MemorySpace, FrozenUpdate> rule{{x, v, {}}, parameters.copy()};
    exchange(exec, gradient, y, first_y,
             [&](const ElementRange& arrived) { update(exec, arrived, rule, result); });
  }
  mean_.decode_kept(exec, groups(), phases(), [&](const Segment& segment) {
    return KeptDenseUpdate{{{x, moments_.v, apply_of(segment, result)}, parameters.copy()}, moments_.m};
  });
}

template <class Rule, class FirstRule>
void FrozenVarianceAdam::exchange(const ExecutionSpace& exec, const Gradient& gradient, const Rule& y,
                                  const FirstRule& first_y, const CompressedMean::Arrived& arrived) {
  if (momentum_is_in_message_) {
    mean_.compressed().exchange_continued(exec, communicator(), phases(),
                                          OfNumbers<MemorySpace, Rule>{gradient, y}, mean_.active(), arrived);
  } else {
    {
      const auto scope = phases().enter(exec, Phase::encode);
      write_first_input(exec, OfNumbers<MemorySpace, FirstRule>{gradient, first_y}, mean_.active(),
                        moments_.m);
    }
    mean_.compressed().exchange(exec, communicator(), phases(), moments_.m, mean_.active(), arrived);
  }
  momentum_is_in_message_ = true;
}

template <class Update>
void FrozenVarianceAdam::update(const ExecutionSpace& exec, const ElementRange& range,
                                WithCopy<MemorySpace, Update> update, const StepResult& result) {
  mean_.decode(exec, groups(), range, [&](const Segment& segment) {
    update.update.apply = apply_of(segment, result);
    return update;
  });
}

AdamApply FrozenVarianceAdam::apply_of(const Segment& segment, const StepResult& result) const {
  return AdamApply::make(result.learning_rate * segment.lr_scale, segment.weight_decay, common().eps, 1.0,
                         1.0);
}

void FrozenVarianceAdam::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  variance_.describe_state(fields);
  fields.number("momentum_is_in_message", momentum_is_in_message_);
  if (fields.saves() && momentum_is_in_message_) write_momentum(exec);
  moments_.describe_state(fields);
  if (variance_.is_frozen()) mean_.compressed().describe_state(fields);
  if (momentum_is_in_message_) mean_.compressed().describe_message(fields);
}

/// m <- what the message says, in place of what it was before the first exchange.
void FrozenVarianceAdam::write_momentum(const ExecutionSpace& exec) const {
  const auto& [m, v] = moments_;
  mean_.compressed().write_mean(exec, mean_.active(), m);
  if (options_.precondition) {
    undo_preconditioning(exec, mean_.active(), v, static_cast<float>(common().eps), m);
  }
}

void FrozenVarianceAdam::adopt_state(const ExecutionSpace& exec, const StateFields& /*fields*/,
                                     const Restoration& restoration) {
  variance_.adopt_state(exec, moments_, mean_);
  momentum_is_in_message_ = momentum_is_in_message_ && restoration.to_the_last_bit;
}

OptionMap FrozenVarianceAdam::options() const {
  return show_options(options_);
}

MemoryUse FrozenVarianceAdam::memory() const {
  MemoryUse use = mean_.memory();
  use.state_bytes += moments_.bytes();
  use.workspace_bytes += dense_mean_.memory_bytes();
  return use;
}

std::vector<PlannedTraffic> FrozenVarianceAdam::traffic_plan() const {
  std::vector<PlannedTraffic> plan;
  add_traffic("warm-up", dense_mean_, plan);
  mean_.add_traffic("compressed", plan);
  return plan;
}

void FrozenVarianceAdam::add_health(const ExecutionSpace& exec, Health& health) {
  if (!variance_.is_frozen()) return;
  health.variance_drift = variance_.drift();
  health.error_ratio = error_ratio(exec, mean_);
}

}  // namespace kadam
