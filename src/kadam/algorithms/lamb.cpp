// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/lamb.hpp>

namespace kadam {

void Lamb::Options::describe(OptionFields& fields) {
  common.describe(fields);
  trust.describe(fields);
}

AlgorithmCost Lamb::cost(const Options& options, const Problem& problem) {
  AlgorithmCost cost;
  cost.phases = {dense_phase("dense", options.common, problem, cost::lamb_update)};
  cost.memory = DenseMeanLayout(problem.ranks, problem.elements(), options.common.gradients).cost().memory;
  cost.memory += {problem.vectors(2), DenseLambStep::memory_bytes(problem.layout)};
  return cost;
}

Lamb::Lamb(const Options& options, Workplace& at)
    : Algorithm(at), lamb_step_(options.trust, layout(), groups()) {
  const ExecutionSpace exec;
  moments_ = Moments::zeros(exec, "kadam::Lamb", elements());
  mean_ = DenseMean(exec, communicator(), elements(), common().gradients);
  exec.fence("kadam::Lamb");
}

void Lamb::advance(Step& step) {
  const Gradient g = step.mean_gradient(mean_);
  const auto scope = step.enter(Phase::decode);
  step.result.gradient_scale = clip_factor_of(step.exec, g);
  lamb_step_(step, moments_, g);
}

void Lamb::describe_state(const ExecutionSpace& /*exec*/, StateFields& fields) {
  moments_.describe_state(fields);
}

}  // namespace kadam
