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

/// The way that one optimizer takes over a recording, step by step.
///
/// Memory: parameters, 4 B each, and on a device 4 B of host memory; the optimizer's own.
class Trajectory {
 public:
  Trajectory(const ExecutionSpace& exec, std::unique_ptr<Optimizer> optimizer, std::span<const float> start);

  /// Takes a step; parameters() are those after it. Collective.
  StepResult step(const ExecutionSpace& exec, const Vector<const float>& gradient);
  /// Of this rank. Valid until the next step.
  [[nodiscard]] std::span<const float> parameters() const { return {host_.data(), host_.size()}; }
  [[nodiscard]] Optimizer& optimizer() { return *optimizer_; }

 private:
  std::unique_ptr<Optimizer> optimizer_;
  launch::RoundedGradient rounded_;
  Vector<float> parameters_;
  Vector<float>::HostMirror host_;  ///< where kernels run on the host, the same memory
};

}  // namespace kadam::replay
