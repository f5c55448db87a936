// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/adam.hpp>

namespace kadam {

AlgorithmCost Adam::cost(const Options& options, const Problem& problem) {
  const bool in_8_bits = options.moments == MomentFormat::eight_bit;
  AlgorithmCost cost;
  cost.phases = {
      dense_phase("dense", options.common, problem,
                  in_8_bits ? eight_bit_adam_kernel(options.common) : adam_kernel(options.common))};
  cost.memory = DenseMeanLayout(problem.ranks, problem.elements(), options.common.gradients).cost().memory;
  cost.memory.state_bytes += in_8_bits ? EightBitMoments::memory_bytes(problem.layout) : problem.vectors(2);
  return cost;
}

Adam::Adam(const Options& options, Workplace& at) : Algorithm(at), format_(options.moments) {
  const ExecutionSpace exec;
  if (format_ == MomentFormat::eight_bit) {
    eight_bit_moments_ = EightBitMoments(exec, "kadam::Adam", layout());
  } else {
    moments_ = Moments::zeros(exec, "kadam::Adam", elements());
  }
  mean_ = DenseMean(exec, communicator(), elements(), common().gradients);
  exec.fence("kadam::Adam");
}

void Adam::advance(Step& step) {
  if (format_ == MomentFormat::eight_bit) {
    dense_adam_step(step, mean_, eight_bit_moments_);
  } else {
    dense_adam_step(step, mean_, moments_);
  }
}

void Adam::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  if (format_ == MomentFormat::eight_bit) {
    eight_bit_moments_.describe_state(exec, fields);
  } else {
    moments_.describe_state(fields);
  }
}

void Adam::adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                       const Restoration& /*restoration*/) {
  if (format_ == MomentFormat::eight_bit) eight_bit_moments_.adopt_state(exec, fields);
}

}  // namespace kadam
