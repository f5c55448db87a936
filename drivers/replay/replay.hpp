// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <replay/comparison.hpp>
#include <replay/recorded_gradients.hpp>
#include <replay/replay_case.hpp>
#include <replay/summary.hpp>
#include <replay/trajectory.hpp>

#include <memory>
#include <set>
#include <span>
#include <string>

namespace kadam::replay {

/// Runs an optimizer over a recording, and a dense one beside it, and compares them.
///
/// Memory: beside the optimizers' own 28 B per parameter, on a device also 16 B of host memory; of the
/// recording one step of this rank.
class Replay {
 public:
  Replay(const ReplayCase& recorded, std::unique_ptr<Optimizer> optimizer, std::unique_ptr<Optimizer> dense);

  /// Takes step t = 0, 1, ... of the recording, in this order. Collective.
  void step(RecordedGradients& gradients, std::int64_t t);
  /// The optimizer's parameters on this rank after the last step.
  [[nodiscard]] std::span<const float> parameters() const { return own_.parameters(); }
  /// Communicator for all exchanges that are not the optimizers'.
  [[nodiscard]] Communicator& own_communicator() { return *aside_; }
  /// Summary of the steps so far. Collective.
  [[nodiscard]] Summary summary();

 private:
  [[nodiscard]] bool is_dense(const StepResult& result) const;

  ExecutionSpace exec_;
  TensorLayout tensors_;
  Trajectory own_;
  Trajectory dense_;
  std::size_t sent_before_ = 0;
  std::size_t dense_sent_before_ = 0;
  std::shared_ptr<Communicator> aside_;
  Comparison comparison_;
  Vector<float> gradient_;
  Vector<float>::HostMirror host_gradient_;
  std::set<std::string, std::less<>> dense_phases_;
  std::int64_t steps_ = 0;
  std::int64_t equal_ = 0;
};

}  // namespace kadam::replay
