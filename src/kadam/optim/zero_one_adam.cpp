// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/element_of.hpp>
#include <kadam/kernels/freeze.hpp>
#include <kadam/optim/frozen_variance.hpp>
#include <kadam/optim/zero_one_adam.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kadam {
namespace {

void synchronise_exactly(const ExecutionSpace& exec, const ElementRange& range,
                         const ZeroOneSynchronise& update, const Vector<const float>& mean) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::ZeroOneAdam::synchronise_exactly", Policy(exec, range.begin, range.end),
      KOKKOS_LAMBDA(const std::int64_t i) { update(i, mean(i)); });
}

}  // namespace

void ZeroOneAdam::Options::describe(OptionFields& fields) {
  common.describe(fields);
  codec.describe(fields);
  fields.add("variance_freeze_step", variance_freeze_step, Range::at_least(0),
             "last step that may update the variance (0: end of lr_warmup_steps)");
  fields.add("variance_kappa", variance_kappa, Range::at_least(1),
             "variance steps before their distance doubles");
  fields.add("sync_doubling_steps", sync_doubling_steps, Range::at_least(1),
             "steps before the distance of syncs doubles");
  fields.add("sync_interval_max", sync_interval_max, Range::at_least(1),
             "largest number of steps between syncs");
  FrozenVariance::describe_floor(fields, variance_floor);
}

void ZeroOneAdam::Options::validate() const {
  common.validate("zero_one_adam");
  codec.validate("zero_one_adam");
  require_option(
      variance_freeze_step > 0 || common.learning_rate.lr_warmup_steps > 0, "zero_one_adam",
      "option 'variance_freeze_step' is needed where there is no lr_warmup_steps to take it from: 10 "
      "to 25 % of the run is usual");
}

ZeroOnePolicy::Options ZeroOneAdam::Options::policy() const {
  return {variance_freeze_step > 0 ? variance_freeze_step : common.learning_rate.lr_warmup_steps,
          variance_kappa, sync_doubling_steps, sync_interval_max};
}

ZeroOneAdam::ZeroOneAdam(const Options& options, TensorLayout layout,
                         std::shared_ptr<Communicator> shared_communicator)
    : Optimizer("zero_one_adam", std::move(layout), std::move(shared_communicator), options.common),
      options_(options),
      policy_(options.policy()) {
  const ExecutionSpace exec;
  x_ = allocate<float>(exec, "kadam::ZeroOneAdam::x", elements());
  moments_ = Moments::zeros(exec, "kadam::ZeroOneAdam", elements());
  u_ = allocate_zeros<float>(exec, "kadam::ZeroOneAdam::u", elements());
  dense_mean_ = DenseMean(exec, communicator(), elements());
  dense_mean_.reserve_staging(communicator());
  mean_ = GroupedMean(exec, options.codec, communicator(), elements(), groups(), groups().dense);
  exec.fence("kadam::ZeroOneAdam");
}

void ZeroOneAdam::advance(Step& step) {
  bool& synchronised = step.result.synchronised;
  if (step.t == 1) Kokkos::deep_copy(step.exec, x_, step.x());
  if (policy_.is_variance_step(step.t)) {
    variance_step(step);
    policy_.take_variance_step();
    policy_.synchronised_at(step.t);
    return;
  }
  local_step(step);
  synchronised = policy_.is_sync_step(step.t);
  if (synchronised && gamma_sum_ > 0.0) {
    step.result.phase = "sync";
    synchronise(step);
  } else {
    if (synchronised) {
      Kokkos::deep_copy(step.exec, u_, 0.0F);
      momentum_differs_ = true;
    }
    const auto scope = step.enter(Phase::decode);
    write_working(step.exec, u_, step.x());
  }
  if (synchronised) policy_.synchronised_at(step.t);
}

void ZeroOneAdam::variance_step(Step& step) {
  step.result.phase = "variance";
  const Gradient g = step.mean_gradient(dense_mean_);
  const auto scope = step.enter(Phase::decode);
  step.result.gradient_scale = clip_factor_of(step.exec, g);
  if (momentum_differs_) Kokkos::deep_copy(step.exec, moments_.m, 0.0F);
  momentum_differs_ = false;
  ++variance_steps_;
  AdamStep rule;
  rule.first = Ema::make(common().beta1);
  rule.second = Ema::make(common().beta2);
  rule.gradient_scale = step.gradient_scale();
  for (const Segment& segment : step.groups.segments) {
    rule.apply = AdamApply::make(step.rate(segment), segment.weight_decay, common().eps, 1.0,
                                 common().second_correction(variance_steps_));
    update_by_adam(step.exec, rule, segment.range, x_, moments_, g);
  }
  Kokkos::deep_copy(step.exec, step.x(), x_);
  mean_.require_variance(step.exec, moments_.v);
  raise_variance(step.exec, mean_.compressed().map(), options_.variance_floor, moments_.v);
}

void ZeroOneAdam::local_step(Step& step) {
  const auto scope = step.enter(Phase::encode);
  step.result.phase = "local";
  step.result.gradient_scale = clip_factor(step.result.gradient_norm);
  gamma_sum_ += step.result.learning_rate;
  for (const Segment& segment : step.groups.segments) {
    LocalStep rule = rule_of(segment);
    rule.gradient_scale = step.gradient_scale();
    rule.gamma = static_cast<float>(step.rate(segment));
    accumulate_local_momentum(step.exec, rule, segment.range.begin, segment.range.end, moments_.m, u_,
                              step.gradient);
  }
}

void ZeroOneAdam::synchronise(const Step& step) {
  const auto update = [&](const Segment& segment) { return synchronise_of(segment, step.x()); };
  mean_.exchange_kept(step, ElementOf<MemorySpace>{u_});
  mean_.exchange(step, u_,
                 [&](const ElementRange& arrived) { mean_.decode<SignCode>(step, arrived, update); });
  mean_.decode_kept(step,
                    [&](const Segment& segment) { return ZeroOneSynchroniseKeptDense{update(segment)}; });
  forget_local_steps();
}

ZeroOneSynchronise ZeroOneAdam::synchronise_of(const Segment& segment,
                                               const Vector<float>& parameters) const {
  const double gamma_sum = gamma_sum_ * segment.lr_scale;
  return {rule_of(segment),
          static_cast<float>(gamma_sum > 0.0 ? 1.0 / gamma_sum : 0.0),
          x_,
          moments_.m,
          moments_.v,
          u_,
          parameters};
}

void ZeroOneAdam::forget_local_steps() {
  gamma_sum_ = 0.0;
  momentum_differs_ = false;
}

void ZeroOneAdam::write_working(const ExecutionSpace& exec, const Vector<const float>& u,
                                const Vector<float>& out) const {
  for (const Segment& segment : groups().segments) {
    write_working_parameters<ExecutionSpace, MemorySpace>(exec, rule_of(segment), segment.range.begin,
                                                          segment.range.end, x_, u, moments_.v, out);
  }
}

LocalStep ZeroOneAdam::rule_of(const Segment& segment) const {
  LocalStep rule;
  rule.first = Ema::make(common().beta1);
  rule.decay = static_cast<float>(1.0 - segment.weight_decay * gamma_sum_ * segment.lr_scale);
  rule.inverse_c2 = static_cast<float>(1.0 / common().second_correction(variance_steps_));
  rule.eps = static_cast<float>(common().eps);
  return rule;
}

void ZeroOneAdam::deliver_all(const ExecutionSpace& exec, const Vector<float>& parameters) {
  if (gamma_sum_ == 0.0) return;
  const Vector<const float> mean = dense_mean_(exec, communicator(), phases(), u_);
  for (const Segment& segment : groups().segments) {
    synchronise_exactly(exec, segment.range, synchronise_of(segment, parameters), mean);
  }
  forget_local_steps();
  policy_.synchronised_at(steps_taken());
}

void ZeroOneAdam::consensus(const ExecutionSpace& exec, const Vector<const float>& /*parameters*/,
                            const Vector<float>& out) {
  if (gamma_sum_ == 0.0) {
    Kokkos::deep_copy(exec, out, x_);
  } else {
    write_working(exec, dense_mean_(exec, communicator(), phases(), u_), out);
  }
}

void ZeroOneAdam::describe_state(const ExecutionSpace& /*exec*/, StateFields& fields) {
  policy_.describe_state(fields);
  fields.number("gamma_sum", gamma_sum_);
  fields.number("variance_steps", variance_steps_);
  fields.number("momentum_differs", momentum_differs_);
  fields.common_parameters(x_);
  if (gamma_sum_ > 0.0 || momentum_differs_) {
    fields.of_each_rank("m", moments_.m);
  } else {
    fields.equal("m", moments_.m);
  }
  fields.equal("v", moments_.v);
  fields.of_each_rank("u", u_, StateVector::IfMissing::zero);
  mean_.compressed().describe_state(fields);
}

void ZeroOneAdam::adopt_state(const ExecutionSpace& exec, const StateFields& /*fields*/,
                              const Restoration& restoration) {
  if (restoration.of_other_algorithm) {
    // Every step was a dense one, which feeds the variance.
    variance_steps_ = steps_taken();
    policy_.start_after(steps_taken());
  }
  if (variance_steps_ > 0) mean_.require_variance(exec, moments_.v);
}

OptionMap ZeroOneAdam::options() const {
  return show_options(options_);
}

MemoryUse ZeroOneAdam::memory() const {
  MemoryUse use = mean_.memory();
  use.state_bytes += moments_.bytes() + (x_.size() + u_.size()) * sizeof(float);
  use.workspace_bytes += dense_mean_.memory_bytes();
  return use;
}

std::vector<PlannedTraffic> ZeroOneAdam::traffic_plan() const {
  std::vector<PlannedTraffic> plan;
  add_traffic("variance", dense_mean_, plan);
  mean_.add_traffic("sync", plan);
  plan.push_back({"local", Traffic::compressed, 0});
  return plan;
}

void ZeroOneAdam::add_health(const ExecutionSpace& exec, Health& health) {
  if (steps_taken() <= options_.policy().freeze) return;
  health.error_ratio = error_ratio(exec, mean_);
}

}  // namespace kadam
