// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/adam.hpp>

#include <utility>

namespace kadam {

Adam::Adam(const Options& options, TensorLayout layout, std::shared_ptr<Communicator> shared_communicator)
    : Optimizer("adam", std::move(layout), std::move(shared_communicator), options.common),
      options_(options) {
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

OptionMap Adam::options() const {
  return show_options(options_);
}

MemoryUse Adam::memory() const {
  return {moments_.bytes(), mean_.memory_bytes()};
}

std::vector<PlannedTraffic> Adam::traffic_plan() const {
  std::vector<PlannedTraffic> plan;
  add_traffic("dense", mean_, plan);
  return plan;
}

}  // namespace kadam
