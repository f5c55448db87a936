// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/optim/optimizer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace kadam::replay {

/// Figures that compare the way of one tensor with that of a dense optimizer, from the first step on that is
/// not dense. x: the parameters, mean over ranks, which may differ. y: those of the dense optimizer. s: those
/// of the dense optimizer before the first step that is compared.
enum class Figure : std::uint8_t {
  distance,  ///< |x - y| / |y - s| at the end
  length,    ///< |x - s| / |y - s| at the end
  signs,  ///< fraction of the coordinates moved by both in which x and y moved in one direction, at the end
  largest_step,  ///< the largest change of a coordinate of x in a step, over the largest learning rate
  apart,  ///< root mean square of the ranks' distances from x, largest of all steps, over |y - s| at the end
};
inline constexpr std::size_t figure_count = 5;
inline constexpr std::array<const char*, figure_count> figure_names = {"distance", "length", "signs",
                                                                       "largest_step", "apart"};
/// One value for each Figure; nothing where it would be a division by 0.
using Figures = std::array<std::optional<double>, figure_count>;

/// Compares two trajectories over the same recording step by step: that of an optimizer, and that of a dense
/// one.
///
/// Memory: 12 B per parameter, and on a device 4 B of host memory. Wire: a sum of d floats over ranks and
/// 8 B per tensor and rank, each step.
class Comparison {
 public:
  /// rates: lr_scale of each tensor. start: the parameters before the first step.
  Comparison(const ExecutionSpace& exec, std::shared_ptr<Communicator> communicator,
             const TensorLayout& tensors, std::vector<double> rates, std::span<const float> start);

  /// Adds a step. is_dense: the optimizer exchanged dense means only, or skipped the step; dense steps before
  /// the first other one are not compared. own, dense: this rank's parameters after the step, of the
  /// optimizer and of the dense one. Collective.
  void add(const ExecutionSpace& exec, const StepResult& result, bool is_dense, std::span<const float> own,
           std::span<const float> dense);

  /// Figures of each tensor, in their order, then of all together. dense: as in the last add().
  [[nodiscard]] std::vector<Figures> figures(std::span<const float> dense) const;
  /// Number of steps from the first one on that is not dense.
  [[nodiscard]] std::int64_t compared_steps() const { return compared_; }

 private:
  void write_difference(const ExecutionSpace& exec, std::span<const float> own, std::span<const float> dense);
  void note_apart(std::span<const float> own, std::span<const float> dense);
  void note_largest_step(std::size_t tensor, std::span<const float> dense);
  [[nodiscard]] Figures figures_of(const Tensor& range, double largest_step, double apart,
                                   std::span<const float> dense) const;

  std::shared_ptr<Communicator> communicator_;
  std::vector<Tensor> tensors_;
  std::vector<double> rates_;
  std::vector<float> start_;           ///< s
  std::vector<float> mean_;            ///< x
  Vector<float> difference_;           ///< x - y
  Vector<float>::HostMirror host_;     ///< the same, on the host
  std::vector<double> largest_steps_;  ///< of each tensor, divided by its lr_scale
  std::vector<double> largest_apart_;  ///< of each tensor, then of all: mean squares
  double largest_rate_ = 0.0;
  std::int64_t compared_ = 0;
};

}  // namespace kadam::replay
