// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "samples.hpp"
#include "settings.hpp"
#include "surrogate.hpp"
#include <kadam/optim/make_optimizer.hpp>

#include <memory>

namespace gray_scott {

/// Figures of one training step on this rank.
struct TrainingStep {
  kadam::StepResult result;
  double loss = 0.0;      ///< over its own examples, before the step; in units of Scaling::change_size^2
  std::size_t bytes = 0;  ///< sent, without the control traffic
  std::size_t planned_bytes = 0;  ///< from Optimizer::bytes_sent_in(); 0 in a skipped step
  std::size_t control_bytes = 0;
};

/// Makes a separate communicator for the training, so that its messages never meet those of halos.
/// Collective.
[[nodiscard]] std::shared_ptr<kadam::Communicator> make_training_communicator(MPI_Comm program,
                                                                              bool is_staged);

/// Trains a surrogate on the states of a History with one of Kadam's optimizers, each rank on cells of its
/// own rows. The surrogate predicts the change of u and v in a cell over a jump from the (2 radius + 1)^2
/// cells around it. Refers to `slab`.
class Training {
 public:
  /// Collective. Errors: as kadam::make_optimizer; std::invalid_argument for too few learning rates.
  Training(const ExecutionSpace& exec, const Settings& settings, const Slab& slab,
           const std::shared_ptr<kadam::Communicator>& communicator);

  /// Call before the first step.
  void set_scaling(const Scaling& scaling) { scaling_ = scaling; }
  [[nodiscard]] const Scaling& scaling() const { return scaling_; }

  /// One optimizer step on a batch drawn from all jumps of the history. Collective.
  TrainingStep step(const ExecutionSpace& exec, const History& history);
  /// Delivers all that the optimizer still owes (errors, residuals). Collective.
  void finish(const ExecutionSpace& exec) { optimizer_->flush(exec, parameters_); }

  /// Sets consensus(), the parameters that predict() uses, to those that all ranks have in common; returns
  /// their hash. Collective. Errors: std::invalid_argument if they differ between ranks.
  std::uint64_t update_consensus(const ExecutionSpace& exec);
  /// Predicts this rank's rows one jump later. The halo of `before` must be filled; that of `after` is not
  /// written.
  void predict(const ExecutionSpace& exec, const Field& before, const Field& after) const;

  [[nodiscard]] const kadam::Optimizer& optimizer() const { return *optimizer_; }
  [[nodiscard]] const kadam::TensorLayout& tensors() const { return surrogate_.tensors(); }
  /// The common parameters, from the last update_consensus().
  [[nodiscard]] const kadam::Vector<float>& consensus() const { return consensus_; }

 private:
  TrainingOptions options_;
  const Slab& slab_;
  Surrogate surrogate_;
  std::unique_ptr<kadam::Optimizer> optimizer_;
  kadam::Vector<float> parameters_, consensus_, gradient_;
  Scaling scaling_;
  std::uint64_t seed_;       ///< of this rank's examples
  std::uint64_t drawn_ = 0;  ///< number of examples drawn
};

}  // namespace gray_scott
