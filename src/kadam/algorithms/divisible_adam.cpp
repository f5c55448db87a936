// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/divisible_adam.hpp>
#include <kadam/kernels/step_ahead.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kadam {
namespace {

/// x <- x - values
void subtract(const ExecutionSpace& exec, const Vector<float>& x, const Vector<const float>& values) {
  step_ahead<ExecutionSpace, MemorySpace>(exec, 1.0F, x, values, x);
}

}  // namespace

void DivisibleAdam::Options::describe(OptionFields& fields) {
  LocalMomentsAdam::Options::describe(fields);
  fields.add("background_steps", background_steps, Range::at_least(1),
             "steps between background exchanges, or auto");
}

AlgorithmCost DivisibleAdam::cost(const Options& options, const Problem& problem) {
  AlgorithmCost cost = LocalMomentsAdam::cost(options, problem);
  StepPhase& phase = cost.phases.back();
  PlannedExchange when;
  when.hiding = Hiding::background;
  when.every = options.first_background_steps();
  when.after = options.warmup_steps;
  const Cost mean = background_mean_cost(problem.ranks, problem.elements());
  phase.add({cost::copy, (2.0 + 3.5 / static_cast<double>(when.every)) * problem.all()});
  phase.add(mean, when);
  // The result of the background exchange is state; the rest is workspace.
  cost.memory += {problem.vectors(4), mean.memory.workspace_bytes - problem.vectors(1)};
  return cost;
}

DivisibleAdam::DivisibleAdam(const Options& options, Workplace& at)
    : LocalMomentsAdam(options, at),
      options_(options),
      background_steps_(options.first_background_steps()),
      background_from_(options.warmup_steps),
      chooses_background_steps_(options.background_steps.automatic) {
  const ExecutionSpace exec;
  x_ = allocate<float>(exec, "kadam::DivisibleAdam::x", elements());
  residual_ = allocate_zeros<float>(exec, "kadam::DivisibleAdam::residual", elements());
  in_flight_ = allocate_zeros<float>(exec, "kadam::DivisibleAdam::in_flight", elements());
  background_ = BackgroundMean(exec, shared_communicator(), ChunkLayout(elements(), communicator().size()),
                               options.progress);
  exec.fence("kadam::DivisibleAdam");
}

void DivisibleAdam::advance(Step& step) {
  if (warms_up()) {
    warm_up(step);
    return;
  }
  if (steps_taken() == warmup_steps()) Kokkos::deep_copy(step.exec, x_, step.x());
  accumulate(step, 1.0, residual_);
  deliver_largest(step, residual_, x_);
  if (starts_background(step.t)) exchange_in_background(step.exec);
  step.result.synchronised = options_.step_ahead == 0.0 || step.communicator.size() == 1;
  const auto scope = step.enter(Phase::decode);
  step_ahead<ExecutionSpace, MemorySpace>(step.exec, static_cast<float>(options_.step_ahead), x_, residual_,
                                          in_flight_, step.x());
}

void DivisibleAdam::exchange_in_background(const ExecutionSpace& exec) {
  const double waited = background_.seconds().exposed;
  subtract(exec, x_, arriving(exec));
  if (chooses_background_steps_ && background_.seconds().exchanges == 1)
    choose_background_steps(background_.seconds().exposed - waited);
  std::swap(residual_, in_flight_);
  Kokkos::deep_copy(exec, residual_, 0.0F);
  const auto scope = phases().enter(exec, Phase::exchange);
  background_.start(exec, in_flight_);
  since_start_.reset();
}

Vector<const float> DivisibleAdam::arriving(const ExecutionSpace& exec) {
  const auto scope = phases().enter(exec, Phase::exchange);
  return background_.mean(exec);
}

/// background_steps_ steps lie between the start of the first exchange and now.
void DivisibleAdam::choose_background_steps(double waited_seconds) {
  const double step_seconds =
      (since_start_.seconds() - waited_seconds) / static_cast<double>(background_steps_);
  const double own = std::ceil(1.2 * background_.seconds().running / step_seconds);
  const std::vector<double> all = communicator().all_gather_values({&own, 1});
  background_steps_ =
      static_cast<std::int64_t>(std::clamp(*std::max_element(all.begin(), all.end()), 1.0, 1e6));
  background_from_ = steps_taken() + 1;
  chooses_background_steps_ = false;
  plan_background();
}

void DivisibleAdam::plan_background() {
  for (PlannedExchange& exchange : cost_here().phases.back().exchanges) {
    const bool is_own = exchange.hiding == Hiding::background && exchange.wanted_after == 0;
    if (!is_own) continue;
    exchange.every = background_steps_;
    exchange.after = background_from_;
  }
}

void DivisibleAdam::adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                                const Restoration& restoration) {
  LocalMomentsAdam::adopt_state(exec, fields, restoration);
  plan_background();
}

void DivisibleAdam::deliver_all(const ExecutionSpace& exec, const Vector<float>& parameters) {
  if (steps_taken() <= warmup_steps()) return;
  consensus(exec, parameters, x_);
  Kokkos::deep_copy(exec, residual_, 0.0F);
  Kokkos::deep_copy(exec, in_flight_, 0.0F);
  background_.reset(exec);
  Kokkos::deep_copy(exec, parameters, x_);
}

void DivisibleAdam::consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                              const Vector<float>& out) {
  if (steps_taken() <= warmup_steps()) {
    Kokkos::deep_copy(exec, out, parameters);
    return;
  }
  const Vector<const float> mean = dense_mean()(exec, phases(), residual_);
  step_ahead<ExecutionSpace, MemorySpace>(exec, 1.0F, x_, arriving(exec), mean, out);
}

void DivisibleAdam::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  LocalMomentsAdam::describe_state(exec, fields);
  fields.number("background_steps", background_steps_);
  fields.number("background_from", background_from_);
  fields.number("chooses_background_steps", chooses_background_steps_);
  if (owes_nothing()) return;
  fields.common_parameters(x_);
  fields.of_each_rank("residual", residual_);
  fields.of_each_rank("in_flight", in_flight_);
  fields.equal("arriving", background_.settled(exec));
}

void DivisibleAdam::poll_background() {
  LocalMomentsAdam::poll_background();
  background_.poll();
}

BackgroundSeconds DivisibleAdam::background_seconds() const {
  BackgroundSeconds sum = LocalMomentsAdam::background_seconds();
  const BackgroundSeconds& own = background_.seconds();
  sum.running += own.running;
  sum.exposed += own.exposed;
  sum.exchanges += own.exchanges;
  return sum;
}

}  // namespace kadam
