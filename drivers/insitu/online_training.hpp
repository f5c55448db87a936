// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/examples.hpp>
#include <insitu/settings.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <launch/rounded_gradient.hpp>

#include <memory>

namespace kadam::insitu {

/// What one training step was like on this rank.
struct OnlineStep {
  StepResult result;
  double loss = 0.0;           ///< over its own examples, before the step; in units of Scaling::change_size^2
  std::size_t bytes = 0;       ///< sent, without the control traffic
  std::size_t node_bytes = 0;  ///< of these: inside its node, where exchanges have two levels
  std::size_t planned_bytes = 0;  ///< as Optimizer::bytes_sent_in() has it; 0 in a skipped step
  std::size_t control_bytes = 0;
};

/// Trains a surrogate on what a History holds, with one of Kadam's optimizers: each rank on cells of its own
/// block, gradients over a communicator of their own.
class OnlineTraining {
 public:
  /// Collective. Errors: as Surrogate and make_optimizer.
  OnlineTraining(const ExecutionSpace& exec, const Settings& settings, const Block& block,
                 const std::shared_ptr<Communicator>& communicator);

  /// To be set before the first step.
  void set_scaling(const Scaling& scaling) { scaling_ = scaling; }
  [[nodiscard]] const Scaling& scaling() const { return scaling_; }

  /// One optimizer step on a batch drawn from all pairs of states in the history. Collective.
  OnlineStep step(const ExecutionSpace& exec, const History& history);
  /// Delivers what the optimizer still holds back. Collective.
  void finish(const ExecutionSpace& exec) { optimizer_->flush(exec, parameters_); }

  /// Brings the parameters that predict() uses up to date and returns their hash: equal on all ranks.
  /// Collective. Errors: std::runtime_error where they differ.
  std::uint64_t update_consensus(const ExecutionSpace& exec);
  /// after = before, one jump later, in the rank's own cells. `before` has a halo, which is complete, of the
  /// surrogate's radius; so has `after`, which is not written.
  void predict(const ExecutionSpace& exec, const Field& before, const Field& after);

  [[nodiscard]] Optimizer& optimizer() { return *optimizer_; }
  [[nodiscard]] const Optimizer& optimizer() const { return *optimizer_; }
  [[nodiscard]] const TensorLayout& tensors() const { return surrogate_.tensors(); }
  /// As update_consensus() left them.
  [[nodiscard]] const Vector<float>& consensus() const { return consensus_; }

 private:
  void draw_sites(const ExecutionSpace& exec, const History& history);

  OnlineOptions options_;
  Block block_;
  std::int64_t radius_;
  Surrogate surrogate_;
  std::unique_ptr<Optimizer> optimizer_;
  Vector<float> parameters_;
  Vector<float> consensus_;
  Vector<float> gradient_;
  launch::RoundedGradient rounded_gradient_;  ///< as the optimizer wants it
  Scaling scaling_;
  Sites sites_;
  std::uint64_t stream_;       ///< of random numbers, of this rank
  std::uint64_t counter_ = 0;  ///< of them
};

}  // namespace kadam::insitu
