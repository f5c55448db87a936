// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/field.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/optim/options.hpp>
#include <workloads/arena.hpp>
#include <workloads/gradient_sink.hpp>
#include <workloads/layers/activation.hpp>
#include <workloads/layers/linear.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kadam::insitu {

struct SurrogateOptions {
  std::int64_t jump = 20;   ///< time steps of the solver that it takes at once
  std::int64_t radius = 3;  ///< of the square of cells that it sees
  std::vector<std::int64_t> hidden = {64, 64};
  std::string activation = "gelu";
  std::int64_t history = 16;  ///< jumps of the solver that are kept to be learned from

  void describe(OptionFields& fields);
  /// Errors: std::invalid_argument with the value and what would be right.
  void validate() const;
  /// Numbers that the surrogate sees of a cell's surroundings.
  [[nodiscard]] std::int64_t inputs() const { return species * (2 * radius + 1) * (2 * radius + 1); }
};

/// Predicts the change of u and v in a cell over one jump from the (2 r + 1)^2 cells around it: a perceptron,
/// the same for all cells. Inputs and outputs are scaled, see Scaling.
/// Worked number: r = 3, hidden {64, 64}: d = 98 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2 = 10,626.
class Surrogate {
 public:
  explicit Surrogate(const SurrogateOptions& options);

  [[nodiscard]] const TensorLayout& tensors() const { return tensors_; }
  /// W normal with deviation √(2 / its inputs), in the last layer a tenth of that: the first predictions are
  /// close to "nothing changes". b is zero. A pure function of the seed.
  void initialise(const HostVector<float>& parameters, std::uint64_t seed) const;

  /// Shape: inputs [examples][inputs], targets [examples][2]. To be filled by the caller.
  struct Batch {
    workloads::Matrix<float> inputs;
    workloads::Matrix<float> targets;
  };
  /// Room for so many examples, valid until another number is asked for. Allocates only where it is more than
  /// ever before.
  [[nodiscard]] const Batch& batch(const ExecutionSpace& exec, std::int64_t examples);

  /// The outputs for the batch's inputs, valid until the next call. Shape: [examples][2].
  workloads::Matrix<float> predict(const ExecutionSpace& exec, const Vector<const float>& parameters);
  /// The mean squared error over the batch; the gradient is overwritten with its derivative. `ready` as that
  /// of workloads::Model.
  double loss_and_gradient(const ExecutionSpace& exec, const Vector<const float>& parameters,
                           const Vector<float>& gradient, const workloads::GradientReady& ready = nullptr);

 private:
  void carve(workloads::Arena& arena, std::int64_t examples);
  /// What layer i reads: the batch, or the activated output of the layer before.
  [[nodiscard]] workloads::Matrix<const float> input_of(std::size_t layer) const;

  workloads::Activation activation_;
  std::vector<workloads::Linear> layers_;
  TensorLayout tensors_;
  workloads::Arena arena_;
  std::int64_t examples_ = -1;
  Batch batch_;
  std::vector<workloads::Matrix<float>> outputs_;    ///< of each layer, before the activation
  std::vector<workloads::Matrix<float>> activated_;  ///< of each hidden layer
  std::vector<workloads::Matrix<float>> gradients_;  ///< of each hidden layer's output
};

}  // namespace kadam::insitu
