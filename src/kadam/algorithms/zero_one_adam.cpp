// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/zero_one_adam.hpp>
#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/element_of.hpp>
#include <kadam/kernels/freeze.hpp>
#include <kadam/kernels/without_code.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kadam {
namespace {

/// 2^exponent, short of overflow: no run is longer.
std::int64_t power_of_two(std::int64_t exponent) {
  return std::int64_t{1} << std::min<std::int64_t>(exponent, 62);
}

/// How many steps of each kind a run has.
struct ZeroOneSteps {
  double variance = 0.0;
  double early_syncs = 0.0;  ///< up to the freeze
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

/// Counts the steps of a run by looking at each of them. Keeps the counts of the last run, because every
/// phase asks for the same.
class StepCounter {
 public:
  explicit StepCounter(const ZeroOnePolicy::Options& options) : options_(options) {}

  const ZeroOneSteps& of(std::int64_t steps) {
    if (steps != steps_) count_ = count_steps(options_, steps);
    steps_ = steps;
    return count_;
  }

 private:
  ZeroOnePolicy::Options options_;
  std::int64_t steps_ = 0;
  ZeroOneSteps count_;
};

}  // namespace

void ZeroOnePolicy::take_variance_step() {
  next_variance_step_ += std::min(power_of_two(variance_index_ / options_.kappa), options_.freeze);
  ++variance_index_;
}

void ZeroOnePolicy::start_after(std::int64_t step) {
  while (next_variance_step_ <= step && next_variance_step_ <= options_.freeze) take_variance_step();
  synchronised_at(step);
}

std::int64_t ZeroOnePolicy::gap(std::int64_t step) const {
  if (step <= options_.freeze) return 1;
  return std::min(options_.interval_max, power_of_two((step - options_.freeze - 1) / options_.doubling));
}

void ZeroOneAdam::Options::describe(OptionFields& fields) {
  common.describe(fields);
  codec.describe(fields);
  fields.add("variance_freeze_step", variance_freeze_step, Range::at_least(0),
             "last step that may update the variance (0: end of lr_warmup_steps)");
  fields.add("variance_kappa", variance_kappa, Range::at_least(1),
             "updates of the variance before the distance between them doubles");
  fields.add("sync_doubling_steps", sync_doubling_steps, Range::at_least(1),
             "steps before the distance between synchronisations doubles");
  fields.add("sync_interval_max", sync_interval_max, Range::at_least(1),
             "largest number of steps between synchronisations");
  FrozenVariance::describe_floor(fields, variance_floor);
}

void ZeroOneAdam::Options::validate(std::string_view owner) const {
  codec.validate(owner);
  require_option(variance_freeze_step > 0 || common.learning_rate.lr_warmup_steps > 0, owner,
                 "option 'variance_freeze_step' is needed if lr_warmup_steps is 0: give a number of steps "
                 "(10 to 25 % of the run is usual)");
}

ZeroOnePolicy::Options ZeroOneAdam::Options::policy() const {
  return {variance_freeze_step > 0 ? variance_freeze_step : common.learning_rate.lr_warmup_steps,
          variance_kappa, sync_doubling_steps, sync_interval_max};
}

AlgorithmCost ZeroOneAdam::cost(const Options& options, const Problem& problem) {
  constexpr double accumulation = 20.0 / 36.0;  // of a local step: the rest writes the working parameters
  constexpr double writes = 1.5;                // m, u and the caller's parameters, beside x
  const auto counter = std::make_shared<StepCounter>(options.policy());
  AlgorithmCost cost;
  StepPhase variance = dense_phase("variance", options.common, problem, adam_kernel(options.common));
  variance.add({cost::copy, problem.all()});
  variance.add({cost::check, problem.all()});
  variance.count = [counter](std::int64_t steps) { return StepCount{counter->of(steps).variance, 0.0}; };
  StepPhase sync = GroupedMean::phase("sync", options.codec, problem, cost.memory);
  sync.add({cost::local_step, accumulation * problem.all()});
  sync.add({cost::scale, writes * problem.all()});
  sync.count = [counter](std::int64_t steps) {
    const ZeroOneSteps& of = counter->of(steps);
    return StepCount{of.early_syncs + of.syncs, of.syncs};
  };
  StepPhase local;
  local.name = "local";
  local.add({cost::check, problem.all()});
  local.add({cost::local_step, problem.all()});
  local.count = [counter](std::int64_t steps) {
    return StepCount{counter->of(steps).local, counter->of(steps).local};
  };
  cost.phases = {std::move(variance), std::move(sync), std::move(local)};
  cost.memory += DenseMeanLayout(problem.ranks, problem.elements()).cost().memory;
  cost.memory.state_bytes += problem.vectors(4);
  return cost;
}

ZeroOneAdam::ZeroOneAdam(const Options& options, Workplace& at)
    : Algorithm(at), options_(options), policy_(options.policy()) {
  const ExecutionSpace exec;
  x_ = allocate<float>(exec, "kadam::ZeroOneAdam::x", elements());
  moments_ = Moments::zeros(exec, "kadam::ZeroOneAdam", elements());
  u_ = allocate_zeros<float>(exec, "kadam::ZeroOneAdam::u", elements());
  dense_mean_ = DenseMean(exec, communicator(), elements());
  mean_ = GroupedMean(exec, options.codec, communicator(), elements(), groups(), groups().dense);
  exec.fence("kadam::ZeroOneAdam");
}

void ZeroOneAdam::advance(Step& step) {
  bool& synchronised = step.result.synchronised;
  if (step.t == 1) Kokkos::deep_copy(step.exec, x_, step.x());
  gamma_ = step.gamma();
  if (step.t <= options_.policy().freeze + 1 || gamma_at_freeze_ == 0.0) gamma_at_freeze_ = gamma_;
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
  const double c2 = common().second_correction(variance_steps_);
  update_by_adam(step.exec, step.adam_rule(1.0, c2), x_, moments_, g);
  Kokkos::deep_copy(step.exec, step.x(), x_);
  raise_variance(step.exec, mean_.compressed().map(), {options_.variance_floor, common().eps * std::sqrt(c2)},
                 moments_.m, moments_.v);
  mean_.require_variance(step.exec, moments_.v);
}

void ZeroOneAdam::local_step(Step& step) {
  const auto scope = step.enter(Phase::encode);
  step.result.phase = "local";
  step.result.gradient_scale = clip_factor(step.result.gradient_norm);
  gamma_sum_ += step.result.learning_rate;
  LocalStepOf rule = local_rule();
  rule.gradient_scale = step.gradient_scale();
  rule.gamma = step.gamma();
  accumulate_local_momentum(step.exec, step.by_segment(rule), moments_.m, u_, step.gradient);
}

void ZeroOneAdam::synchronise(const Step& step) {
  const ZeroOneSynchronise update = synchronise_into(step.x());
  const auto rule = at_synchronisation(update);
  mean_.exchange_kept(step, ElementOf<MemorySpace>{u_});
  mean_.exchange(step, u_, [&](const ElementRange& arrived) { mean_.decode<SignCode>(step, arrived, rule); });
  mean_.decode_kept(step, at_synchronisation(ZeroOneSynchroniseKeptDense{update}));
  forget_local_steps();
}

template <class Update>
UpdateBySegment<MemorySpace, ZeroOneSynchronise::RuleOf, Update> ZeroOneAdam::at_synchronisation(
    const Update& update) const {
  return {{segments(), {local_rule()}}, update};
}

ZeroOneSynchronise ZeroOneAdam::synchronise_into(const Vector<float>& parameters) const {
  return {x_, moments_.m, moments_.v, u_, parameters};
}

void ZeroOneAdam::forget_local_steps() {
  gamma_sum_ = 0.0;
  momentum_differs_ = false;
}

void ZeroOneAdam::write_working(const ExecutionSpace& exec, const Vector<const float>& u,
                                const Vector<float>& out) const {
  const BySegment<MemorySpace, LocalStepOf> rule{segments(), local_rule()};
  write_working_parameters<ExecutionSpace, MemorySpace>(exec, rule, x_, u, moments_.v, out);
}

LocalStepOf ZeroOneAdam::local_rule() const {
  LocalStepOf rule;
  rule.first = Ema::make(common().beta1);
  rule.gamma_sum = gamma_sum_;
  rule.inverse_c2 = static_cast<float>(1.0 / common().second_correction(variance_steps_));
  rule.eps = static_cast<float>(common().eps);
  return rule;
}

void ZeroOneAdam::deliver_all(const ExecutionSpace& exec, const Vector<float>& parameters) {
  if (gamma_sum_ == 0.0) return;
  const Vector<const float> mean = dense_mean_(exec, phases(), u_);
  update_by_mean(exec, at_synchronisation(synchronise_into(parameters)), 1.0F, mean);
  forget_local_steps();
  policy_.synchronised_at(steps_taken());
}

void ZeroOneAdam::consensus(const ExecutionSpace& exec, const Vector<const float>& /*parameters*/,
                            const Vector<float>& out) {
  if (gamma_sum_ == 0.0) {
    Kokkos::deep_copy(exec, out, x_);
  } else {
    write_working(exec, dense_mean_(exec, phases(), u_), out);
  }
}

void ZeroOneAdam::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  policy_.describe_state(fields);
  fields.number("gamma_sum", gamma_sum_);
  fields.number("variance_steps", variance_steps_);
  fields.number("momentum_differs", momentum_differs_);
  fields.number_if_there("gamma", gamma_);
  fields.number_if_there("gamma_at_freeze", gamma_at_freeze_);
  fields.common_parameters(x_);
  if (gamma_sum_ > 0.0 || momentum_differs_) {
    fields.of_each_rank("m", moments_.m);
  } else {
    fields.equal("m", moments_.m);
  }
  fields.equal("v", moments_.v);
  fields.of_each_rank("u", u_, StateVector::IfMissing::zero);
  mean_.compressed().describe_state(exec, fields);
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

void ZeroOneAdam::add_health(const ExecutionSpace& exec, Health& health) {
  const std::int64_t freeze = options_.policy().freeze;
  if (steps_taken() <= freeze) return;
  health.error_ratio = error_ratio(exec, mean_);
  health.largest_step = largest_step(exec, moments_, common().second_correction(variance_steps_));
  // A synchronisation delivers what was owed at the rates of earlier steps: a rate that falls to 0 would make
  // any step long.
  if (health.largest_step && gamma_ < gamma_at_freeze_)
    health.largest_step->over_learning_rate *= gamma_ / gamma_at_freeze_;
}

}  // namespace kadam
