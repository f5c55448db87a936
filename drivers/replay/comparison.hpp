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

/// How one tensor went beside dense steps, from the first step on that was not one. Ranks may be at points of
/// their own: x is the mean over them. y are the parameters of the dense optimizer, s where both began.
enum class Figure : std::uint8_t {
  distance,      ///< |x - y| / |y - s| at the end
  length,        ///< |x - s| / |y - s| at the end
  signs,         ///< of the coordinates that both moved, those in which x moved in y's direction, at the end
  largest_step,  ///< the largest change of a coordinate of x in a step, over the largest learning rate
  apart,         ///< root mean square of the ranks' distances from x, over |y - s|: the largest of all steps
};
inline constexpr std::size_t figure_count = 5;
inline constexpr std::array<const char*, figure_count> figure_names = {"distance", "length", "signs",
                                                                       "largest_step", "apart"};
/// By Figure; nothing where it would be a division by 0.
using Figures = std::array<std::optional<double>, figure_count>;

/// Compares two trajectories of the same recording as they come: one on all ranks, and a dense one beside it.
///
/// Memory: 12 B per parameter, and on a device 4 B of host memory. Wire: a sum of d floats over ranks and
/// 8 B per tensor and rank, each step.
class Comparison {
 public:
  /// rates: of each tensor, the factor on the learning rate.
  Comparison(const ExecutionSpace& exec, std::shared_ptr<Communicator> communicator,
             const TensorLayout& tensors, std::vector<double> rates, std::span<const float> start);

  /// Takes in a step. is_dense: it was a step of the dense optimizer, and nothing has been compressed yet.
  /// own: of this rank. Collective.
  void add(const ExecutionSpace& exec, const StepResult& result, bool is_dense, std::span<const float> own,
           std::span<const float> dense);

  /// Of all tensors, in their order, and then of all of them together. dense: as in the last add().
  [[nodiscard]] std::vector<Figures> figures(std::span<const float> dense) const;
  /// Steps from the first one on that was not dense.
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
  std::vector<double> largest_steps_;  ///< of each tensor, over its factor on the learning rate
  std::vector<double> largest_apart_;  ///< of each tensor and of all: squares
  double largest_rate_ = 0.0;
  std::int64_t compared_ = 0;
};

}  // namespace kadam::replay
