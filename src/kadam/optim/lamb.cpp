// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/lamb.hpp>

#include <utility>

namespace kadam {

void Lamb::Options::describe(OptionFields& fields) {
  common.describe(fields);
  trust.describe(fields);
}

void Lamb::Options::validate() const {
  common.validate("lamb");
  trust.validate("lamb");
}

Lamb::Lamb(const Options& options, TensorLayout layout, std::shared_ptr<Communicator> shared_communicator)
    : Optimizer("lamb", std::move(layout), std::move(shared_communicator), options.common),
      options_(options),
      lamb_step_(options.trust, this->layout(), groups()) {
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

OptionMap Lamb::options() const {
  return show_options(options_);
}

MemoryUse Lamb::memory() const {
  return {moments_.bytes(), mean_.memory_bytes() + lamb_step_.memory_bytes()};
}

std::vector<PlannedTraffic> Lamb::traffic_plan() const {
  std::vector<PlannedTraffic> plan;
  add_traffic("dense", mean_, plan);
  return plan;
}

}  // namespace kadam
