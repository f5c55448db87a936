// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/adam.hpp>

namespace kadam {

void Adam::Options::describe(OptionFields& fields) {
  common.describe(fields);
  fields.add("shard_state", shard_state,
             "divide m, v and the update over the ranks of a node, in one level over all ranks");
}

AlgorithmCost Adam::cost(const Options& options, const Problem& problem) {
  const DenseMeanLayout mean(problem.ranks, problem.elements(), options.common.gradients, options.received());
  AlgorithmCost cost;
  cost.phases = {dense_phase("dense", options.common, problem, adam_kernel(options.common), mean)};
  cost.memory = mean.cost().memory;
  cost.memory.state_bytes += 2 * sizeof(float) * static_cast<std::size_t>(mean.received().elements());
  return cost;
}

Adam::Adam(const Options& options, Workplace& at) : Algorithm(at) {
  const ExecutionSpace exec;
  mean_ = DenseMean(exec, communicator(), elements(), common().gradients, options.received());
  moments_ = Moments::zeros(exec, "kadam::Adam", mean_.layout().received().elements());
  exec.fence("kadam::Adam");
}

void Adam::advance(Step& step) {
  dense_adam_step(step, mean_, moments_);
}

void Adam::describe_state(const ExecutionSpace& /*exec*/, StateFields& fields) {
  moments_.describe_state(fields, mean_.layout().placement());
}

}  // namespace kadam
