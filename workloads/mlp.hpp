// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/layers/activation.hpp>
#include <workloads/layers/linear.hpp>
#include <workloads/network.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kadam::workloads {

struct MlpOptions {
  std::vector<std::int64_t> hidden = {64, 64};  ///< widths of the hidden layers, may be empty
  std::string activation = "relu";              ///< relu or gelu

  /// Errors: std::invalid_argument with the value and what would be right.
  void validate() const;
};

/// Image -> hidden layers -> classes, fully connected.
/// Worked number: 784 pixels, hidden {64, 64}, 10 classes have d = 55,050.
class Mlp final : public Network {
 public:
  Mlp(const MlpOptions& options, std::int64_t inputs, std::int64_t classes);

  /// W of each layer normal with deviation √(2 / inputs) (He et al. 2015), b zero.
  void initialise(const HostVector<float>& parameters, std::uint64_t seed) const override;

 protected:
  void check(const Batch& batch) const override;
  void carve(Arena& arena, std::int64_t examples) override;
  Matrix<float> forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                        const Batch& batch) override;
  void backward(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch& batch,
                const Matrix<float>& dlogits, const GradientSink& gradient) override;

 private:
  /// The input of layer i: the images, or the activated output of the layer before.
  [[nodiscard]] Matrix<const float> input_of(std::size_t layer, const Batch& batch) const;

  Activation activation_;
  std::vector<Linear> layers_;
  std::vector<Matrix<float>> outputs_;    ///< of each layer, before the activation
  std::vector<Matrix<float>> activated_;  ///< of each hidden layer
  std::vector<Matrix<float>> gradients_;  ///< of each hidden layer's output
};

}  // namespace kadam::workloads
