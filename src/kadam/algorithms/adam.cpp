// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/adam.hpp>

#include <stdexcept>
#include <string>

namespace kadam {

void Adam::Options::describe(OptionFields& fields) {
  common.describe(fields);
  describe_moments(fields, moments);
  fields.add("shard_state", shard_state,
             "divide m, v and the update over the ranks of a node (in one level: over all ranks)");
}

void Adam::Options::validate(std::string_view owner) const {
  if (!shard_state || moments == MomentFormat::float32) return;
  throw std::invalid_argument(
      std::string(owner) +
      ": options 'shard_state' and 'moments': shard_state would cut the blocks of moments = \"8bit\": set "
      "only one of the two (8 bits save as much memory as four ranks that divide float32)");
}

AlgorithmCost Adam::cost(const Options& options, const Problem& problem) {
  const bool in_8_bits = options.moments == MomentFormat::eight_bit;
  const DenseMeanLayout mean(problem.ranks, problem.elements(), options.common.gradients, options.received());
  AlgorithmCost cost;
  cost.phases = {dense_phase("dense", options.common, problem,
                             in_8_bits ? eight_bit_adam_kernel(options.common) : adam_kernel(options.common),
                             mean)};
  cost.memory = mean.cost().memory;
  cost.memory.state_bytes += in_8_bits
                                 ? EightBitMoments::memory_bytes(problem.layout)
                                 : 2 * sizeof(float) * static_cast<std::size_t>(mean.received().elements());
  return cost;
}

Adam::Adam(const Options& options, Workplace& at) : Algorithm(at), format_(options.moments) {
  const ExecutionSpace exec;
  mean_ = DenseMean(exec, communicator(), elements(), common().gradients, options.received());
  if (format_ == MomentFormat::eight_bit) {
    eight_bit_moments_ = EightBitMoments(exec, "kadam::Adam", layout());
  } else {
    moments_ = Moments::zeros(exec, "kadam::Adam", mean_.layout().received().elements());
  }
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
    moments_.describe_state(fields, mean_.layout().placement());
  }
}

void Adam::adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                       const Restoration& /*restoration*/) {
  if (format_ == MomentFormat::eight_bit) eight_bit_moments_.adopt_state(exec, fields);
}

}  // namespace kadam
