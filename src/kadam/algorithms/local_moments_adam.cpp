// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/local_moments_adam.hpp>
#include <kadam/kernels/delayed_mean.hpp>
#include <kadam/kernels/element_of.hpp>
#include <kadam/kernels/factored_variance.hpp>
#include <kadam/wire/sparse_message.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace kadam {
namespace {}  // namespace

DelayedVarianceMean::DelayedVarianceMean(const ExecutionSpace& exec,
                                         const std::shared_ptr<Communicator>& communicator,
                                         std::int64_t elements, Progress progress)
    : snapshot_(allocate<float>(exec, "kadam::DelayedVarianceMean::snapshot", elements)),
      mean_(exec, communicator, ChunkLayout(elements, communicator->size()), progress) {}

void DelayedVarianceMean::start(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& v) {
  Kokkos::deep_copy(exec, snapshot_, v);
  const auto scope = phases.enter(exec, Phase::exchange);
  mean_.start(exec, snapshot_);
}

void DelayedVarianceMean::apply(const ExecutionSpace& exec, Phases& phases, double kept,
                                const Vector<float>& v) {
  Vector<const float> mean;
  {
    const auto scope = phases.enter(exec, Phase::exchange);
    mean = mean_.mean(exec);
  }
  const auto scope = phases.enter(exec, Phase::decode);
  apply_delayed_mean<ExecutionSpace, MemorySpace>(exec, static_cast<float>(kept), mean, snapshot_, v);
}

void LocalMomentsAdam::Options::describe(OptionFields& fields) {
  common.describe(fields);
  fields.add("warmup_steps", warmup_steps, Range::at_least(0), "dense steps at the beginning");
  fields.add("density", density, Range::above(0.0).up_to(1.0),
             "fraction of the residual's entries that is sent");
  fields.add("select_block", select_block, Range::at_least(0).up_to(SparseMessage::largest_select_block),
             "length of the blocks whose largest elements are sent (0: one block of all elements)");
  add_variance(fields, variance);
  fields.add(
      "variance_sync_interval", variance_sync_interval, Range::at_least(0),
      "steps between exact means of the variance (0: never; auto: 50, or 10 with variance = factored)");
  fields.add(
      "variance_delay", variance_delay, Range::at_least(0),
      "steps until a mean of the variance is applied; until then it travels in the background (0: at once)");
  fields.add_choice<Progress>(
      "progress", progress,
      {{"thread", Progress::thread}, {"poll", Progress::poll}, {"none", Progress::none}},
      "driver of background exchanges; thread: a thread of Kadam; poll: the program's calls of progress(); "
      "none: nobody, so they block");
  fields.add("step_ahead", step_ahead, Range::at_least(0.0).up_to(1.0),
             "fraction of its own residual that a rank applies in advance");
  fields.add_choice<SparseExchange>("exchange", exchange,
                                    {{"own", SparseExchange::own}, {"owner", SparseExchange::owner}},
                                    "own: every rank gets all selected entries and sums them; owner: each "
                                    "rank sums its part of the vector and selects again");
  fields.add("value_bits", value_bits,
             "bits of a sent value; 32: float32; 2: its sign and one of two magnitudes, the rest stays in "
             "the residual");
}

void LocalMomentsAdam::Options::validate(std::string_view owner) const {
  require_option(variance_delay == 0 || variance_delay < variance_interval(), owner,
                 "option 'variance_delay': expected 0 (at once), or fewer steps than variance_sync_interval");
  require_option(variance_delay == 0 || !factors_variance(), owner,
                 "option 'variance_delay' needs variance = \"own\": means of a factored variance are too "
                 "short to travel in the background: leave the option out");
  require_option(value_bits == 32 || value_bits == 2, owner,
                 "option 'value_bits': expected 32 or 2, got " + std::to_string(value_bits));
  if (value_bits == 32) return;
  require_option(exchange == SparseExchange::own, owner,
                 "option 'value_bits': 2 needs exchange = \"own\": an owner would round the mean to two "
                 "magnitudes again, and no rank would keep the error of that");
  require_option(
      select_block > 0 && select_block <= SparseMessage::largest_level_block, owner,
      "option 'value_bits': 2 needs a select_block from 1 to 4096, got " + std::to_string(select_block));
}

/// Exact means of the variance now and then. If they are not delayed, the step waits for them.
void LocalMomentsAdam::Options::add_variance_means(const Problem& problem, AlgorithmCost& cost) const {
  const std::int64_t every = variance_interval();
  if (factors_variance()) {
    const Cost mean = FactoredVariance::cost(problem.layout.tensors(), problem.ranks, problem.threads);
    cost.memory += mean.memory;
    for (StepPhase& phase : cost.phases) phase.add({cost::check, problem.all()});  // squares: a read
    if (every == 0) return;
    PlannedExchange when;
    when.every = every;
    cost.phases.back().add(mean, when);
    for (const Work& work : FactoredVariance::work_of_average(problem.layout.tensors()))
      cost.phases.back().add({work.kernel, work.elements / static_cast<double>(every)});
    return;
  }
  if (every == 0) return;
  StepPhase& phase = cost.phases.back();
  const auto add = [&](const Kernel& kernel, double vectors) {
    phase.add({kernel, vectors * problem.all() / static_cast<double>(every)});
  };
  add(cost::copy, 1.0);
  add(cost::scale, 2.0);
  PlannedExchange when;
  when.every = every;
  if (!delays_variance(problem.ranks)) {
    phase.add(DenseMeanLayout(problem.ranks, problem.elements()).cost(), when);
    return;
  }
  add(cost::copy, 3.0);
  add(cost::scale, 1.0);
  when.hiding = Hiding::background;
  when.wanted_after = variance_delay;
  const Cost mean = background_mean_cost(problem.ranks, problem.elements());
  phase.add(mean, when);
  cost.memory += mean.memory;
  cost.memory.state_bytes += problem.vectors(1);
}

AlgorithmCost LocalMomentsAdam::cost(const Options& options, const Problem& problem) {
  const Arrangement& ranks = problem.ranks;
  AlgorithmCost cost;
  cost.memory = {problem.vectors(options.factors_variance() ? 1 : 2),
                 DenseMeanLayout(ranks, problem.elements()).cost().memory.workspace_bytes};
  StepPhase phase;
  phase.name = "compressed";
  if (options.warmup_steps > 0) {
    StepPhase warmup = dense_phase("warm-up", options.common, problem, adam_kernel(options.common));
    warmup.count = steps_until(options.warmup_steps);
    phase.count = steps_after(options.warmup_steps);
    cost.phases.push_back(std::move(warmup));
  }
  const Cost sparse =
      SparseMeanLayout(options.sparse(), problem.elements(), ranks.ranks, ranks.rank).cost(problem.threads);
  const Cost kept = dense_subset_cost(ranks, problem.groups.dense);
  phase.add({cost::check, problem.all()});
  phase.add({cost::accumulate_adam_direction, problem.all()});
  phase.add(sparse, Hiding::nothing);
  phase.add(kept, Hiding::nothing);
  if (options.common.weight_decay > 0.0) phase.add({cost::scale, problem.all()});
  cost.phases.push_back(std::move(phase));
  cost.memory += sparse.memory;
  cost.memory += kept.memory;
  options.add_variance_means(problem, cost);
  return cost;
}

LocalMomentsAdam::LocalMomentsAdam(const Options& options, Workplace& at)
    : Algorithm(at),
      warmup_steps_(options.warmup_steps),
      variance_sync_interval_(options.variance_interval()),
      variance_delay_(options.variance_delay),
      delays_variance_(options.delays_variance(at.problem.ranks)),
      factors_variance_(options.factors_variance()) {
  const ExecutionSpace exec;
  if (factors_variance_) {
    moments_.m = allocate_zeros<float>(exec, "kadam::LocalMomentsAdam::m", elements());
    factored_variance_ = FactoredVariance(exec, layout().tensors(), communicator());
  } else {
    moments_ = Moments::zeros(exec, "kadam::LocalMomentsAdam", elements());
  }
  dense_mean_ = DenseMean(exec, communicator(), elements());
  kept_dense_ = DenseSubset(exec, communicator(), groups().dense);
  sparse_mean_ = SparseMean(exec, options.sparse(), elements(), communicator());
  if (delays_variance_) {
    variance_mean_ = DelayedVarianceMean(exec, shared_communicator(), elements(), options.progress);
  }
  exec.fence("kadam::LocalMomentsAdam");
}

void LocalMomentsAdam::warm_up(Step& step) {
  step.result.phase = "warm-up";
  if (factors_variance_) {
    warm_up_by_factors(step);
  } else {
    dense_adam_step(step, dense_mean_, moments_);
  }
}

void LocalMomentsAdam::warm_up_by_factors(Step& step) {
  const Gradient g = step.mean_gradient(dense_mean_);
  const auto scope = step.enter(Phase::decode);
  step.result.gradient_scale = clip_factor_of(step.exec, g);
  factored_variance_.update(step.exec, g, Ema::make(common().beta2), step.gradient_scale());
  const auto apply =
      AdamApplyOf::make(step.gamma(), common().eps, step.first_correction(), step.second_correction());
  momentum_update(step.exec,
                  step.by_segment(MomentumStepOf{Ema::make(common().beta1), step.gradient_scale(), apply}),
                  factored_variance_.factors(), step.x(), moments_.m, g);
}

void LocalMomentsAdam::accumulate(Step& step, double keep, const Vector<float>& residual) {
  step.result.phase = "compressed";
  step.result.gradient_scale = clip_factor(step.result.gradient_norm);
  const auto direction = AdamDirectionOf::make(keep, step.gamma(), common().eps, step.first_correction(),
                                               step.second_correction());
  if (factors_variance_) {
    accumulate_by_factors(step, direction, residual);
    return;
  }
  const auto& [m, v] = moments_;
  const MomentUpdate update{Ema::make(common().beta1), Ema::make(common().beta2), step.gradient_scale()};
  const bool needs_variance = is_variance_step(step.t) || arrives_variance(step.t);
  if (needs_variance) {
    update_moments(step.exec, update, m, v, step.gradient);
    average_variance(step);
  }
  const auto scope = step.enter(Phase::encode);
  if (needs_variance) {
    accumulate_direction(step.exec, step.by_segment(direction), Vector<const float>(m),
                         Vector<const float>(v), residual);
  } else {
    accumulate_adam_direction(step.exec, step.by_segment(MomentsAndDirectionOf{update, direction}), m, v,
                              step.gradient, residual);
  }
}

void LocalMomentsAdam::accumulate_by_factors(const Step& step, const AdamDirectionOf& direction,
                                             const Vector<float>& residual) {
  {
    const auto scope = step.enter(Phase::encode);
    factored_variance_.update(step.exec, step.gradient, Ema::make(common().beta2), step.gradient_scale());
  }
  if (is_variance_step(step.t)) factored_variance_.average(step.exec, step.phases);
  const auto scope = step.enter(Phase::encode);
  const MomentumAndDirectionOf rule{Ema::make(common().beta1), step.gradient_scale(), direction};
  accumulate_momentum_direction(step.exec, step.by_segment(rule), factored_variance_.factors(), moments_.m,
                                step.gradient, residual);
}

void LocalMomentsAdam::average_variance(const Step& step) {
  const Vector<float>& v = moments_.v;
  if (!delays_variance_) {
    Kokkos::deep_copy(step.exec, v, dense_mean_(step.exec, step.phases, v));
  } else if (is_variance_step(step.t)) {
    variance_mean_.start(step.exec, step.phases, v);
    awaits_variance_ = true;
  } else {
    const double kept = std::pow(common().beta2, static_cast<double>(variance_delay_));
    variance_mean_.apply(step.exec, step.phases, kept, v);
    awaits_variance_ = false;
  }
}

void LocalMomentsAdam::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  fields.number("awaits_variance", awaits_variance_);
  if (factors_variance_) {
    fields.of_each_rank("m", moments_.m);
    factored_variance_.describe_state(fields);
  } else if (has_dense_state()) {
    moments_.describe_state(fields);
  } else {
    moments_.describe_own_state(fields);
  }
  if (awaits_variance_ && delays_variance_) {
    variance_mean_.describe_state(exec, fields);
  } else {
    // A state may hold both where they are not needed. On one rank v is read as the mean over the ranks that
    // saved it, and the correction, mean - s, is 0 in that mean.
    fields.not_needed("variance_snapshot");
    fields.not_needed("variance_mean");
  }
}

void LocalMomentsAdam::adopt_state(const ExecutionSpace& /*exec*/, const StateFields& /*fields*/,
                                   const Restoration& /*restoration*/) {
  // No mean is to be applied on one rank, whose v is the mean already, nor where the options have no delay.
  awaits_variance_ = awaits_variance_ && delays_variance_;
}

void LocalMomentsAdam::poll_background() {
  if (delays_variance_) variance_mean_.poll();
}

BackgroundSeconds LocalMomentsAdam::background_seconds() const {
  return delays_variance_ ? variance_mean_.seconds() : BackgroundSeconds{};
}

void LocalMomentsAdam::deliver_largest(const Step& step, const Vector<float>& residual,
                                       const Vector<float>& x) {
  if (step.groups.decay()) {
    const auto scope = step.enter(Phase::decode);
    decay_weights(step.exec, step.by_segment(WeightDecayOf{step.gamma()}), x);
  }
  kept_dense_.exchange(step.exec, step.phases, ElementOf<MemorySpace>{residual});
  kept_dense_.decode(step.exec, DeliverWhole{x, residual});
  sparse_mean_.deliver(step.exec, step.phases, residual, x);
}

void LocalMomentsAdam::add_health(const ExecutionSpace& exec, Health& health) {
  if (steps_taken() <= warmup_steps_) return;
  health.variance_spread =
      spread_over_ranks(factors_variance_ ? factored_variance_.sum(exec) : one_norm(exec, moments_.v));
  health.support_overlap = sparse_mean_.overlap(exec);
  const BackgroundSeconds background = background_seconds();
  if (background.running > 0.0) health.background_hidden = background.hidden_fraction();
}

}  // namespace kadam
