// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/adam.hpp>

namespace kadam {

AlgorithmCost Adam::cost(const Options& options, const Problem& problem) {
  AlgorithmCost cost;
  cost.phases = {dense_phase("dense", options.common, problem, adam_kernel(options.common))};
  cost.memory = DenseMeanLayout(problem.ranks, problem.elements(), options.common.gradients).cost().memory;
  cost.memory.state_bytes += problem.vectors(2);
  return cost;
}

Adam::Adam(const Options& /*options*/, Workplace& at) : Algorithm(at) {
  const ExecutionSpace exec;
  moments_ = Moments::zeros(exec, "kadam::Adam", elements());
  mean_ = DenseMean(exec, communicator(), elements(), common().gradients);
  exec.fence("kadam::Adam");
}

void Adam::advance(Step& step) {
  dense_adam_step(step, mean_, moments_);
}

void Adam::describe_state(const ExecutionSpace& /*exec*/, StateFields& fields) {
  moments_.describe_state(fields);
}

}  // namespace kadam
