// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/locally_accumulated_adam.hpp>
#include <kadam/kernels/step_ahead.hpp>

namespace kadam {

void LocallyAccumulatedAdam::Options::describe(OptionFields& fields) {
  LocalMomentsAdam::Options::describe(fields);
  fields.add("residual_decay", residual_decay, Range::at_least(0.0).up_to(1.0),
             "factor on the residual before a step is added");
}

AlgorithmCost LocallyAccumulatedAdam::cost(const Options& options, const Problem& problem) {
  AlgorithmCost cost = LocalMomentsAdam::cost(options, problem);
  const bool steps_ahead = options.steps_ahead(problem.ranks);
  if (steps_ahead) cost.phases.back().add({cost::copy, 1.5 * problem.all()});
  cost.memory.state_bytes += problem.vectors(steps_ahead ? 2 : 1);
  return cost;
}

LocallyAccumulatedAdam::LocallyAccumulatedAdam(const Options& options, Workplace& at)
    : LocalMomentsAdam(options, at), options_(options), steps_ahead_(options.steps_ahead(at.problem.ranks)) {
  const ExecutionSpace exec;
  e_ = allocate_zeros<float>(exec, "kadam::LocallyAccumulatedAdam::e", elements());
  if (steps_ahead_) x_ = allocate<float>(exec, "kadam::LocallyAccumulatedAdam::x", elements());
  exec.fence("kadam::LocallyAccumulatedAdam");
}

void LocallyAccumulatedAdam::advance(Step& step) {
  if (warms_up()) {
    warm_up(step);
    return;
  }
  if (steps_ahead_ && steps_taken() == warmup_steps()) Kokkos::deep_copy(step.exec, x_, step.x());
  accumulate(step, options_.residual_decay, e_);
  deliver_largest(step, e_, steps_ahead_ ? x_ : step.x());
  if (!steps_ahead_) return;
  step.result.synchronised = false;
  const auto scope = step.enter(Phase::decode);
  step_ahead<ExecutionSpace, MemorySpace>(step.exec, static_cast<float>(options_.step_ahead), x_, e_,
                                          step.x());
}

void LocallyAccumulatedAdam::deliver_all(const ExecutionSpace& exec, const Vector<float>& parameters) {
  if (steps_taken() <= warmup_steps()) return;
  consensus(exec, parameters, parameters);
  Kokkos::deep_copy(exec, e_, 0.0F);
  if (steps_ahead_) Kokkos::deep_copy(exec, x_, parameters);
}

void LocallyAccumulatedAdam::consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                       const Vector<float>& out) {
  if (steps_taken() <= warmup_steps()) {
    Kokkos::deep_copy(exec, out, parameters);
    return;
  }
  const Vector<const float> common = steps_ahead_ ? Vector<const float>(x_) : parameters;
  const Vector<const float> owed = dense_mean()(exec, phases(), e_);
  step_ahead<ExecutionSpace, MemorySpace>(exec, 1.0F, common, owed, out);
}

void LocallyAccumulatedAdam::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  LocalMomentsAdam::describe_state(exec, fields);
  if (owes_nothing()) return;
  fields.of_each_rank("residual", e_);
  if (steps_ahead_) fields.common_parameters(x_);
}

}  // namespace kadam
