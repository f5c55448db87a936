// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/optim/optimizer.hpp>
#include <launch/optimizer_steps.hpp>

#include <memory>
#include <span>
#include <vector>

namespace kadam::replay {

/// Runs one optimizer over recorded gradients, step by step.
///
/// Memory: beside the optimizer's 4 B per parameter, and on a device 4 B of host memory.
class Trajectory {
 public:
  Trajectory(const ExecutionSpace& exec, std::unique_ptr<Optimizer> optimizer, std::span<const float> start);

  /// Takes a step with a float32 gradient, rounded to the optimizer's format. Collective.
  StepResult step(const ExecutionSpace& exec, const Vector<const float>& gradient);
  /// This rank's parameters after the last step. Valid until the next step.
  [[nodiscard]] std::span<const float> parameters() const { return {host_.data(), host_.size()}; }
  [[nodiscard]] Optimizer& optimizer() { return *optimizer_; }

 private:
  std::unique_ptr<Optimizer> optimizer_;
  launch::RoundedGradient rounded_;
  Vector<float> parameters_;
  Vector<float>::HostMirror host_;  ///< the same memory as parameters_ where kernels run on the host
};

}  // namespace kadam::replay
