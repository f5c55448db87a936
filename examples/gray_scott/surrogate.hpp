// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "matrix.hpp"
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/layout/tensor_layout.hpp>

#include <functional>
#include <vector>

namespace gray_scott {

/// A perceptron with GELU between its layers. The weights of a layer are [input][output], with its bias as
/// one more row; so inputs have one more column, which is 1. Worked number: 98 inputs, hidden {64, 64}, 2
/// outputs: d = 99 * 64 + 65 * 64 + 65 * 2 = 10,626.
class Surrogate {
 public:
  /// widths: outputs of each layer. most_examples: the largest batch. Memory: beside parameters 8 B per
  /// example and number in a layer.
  Surrogate(const kadam::ExecutionSpace& exec, std::int64_t inputs, std::vector<std::int64_t> widths,
            std::int64_t most_examples);

  [[nodiscard]] const kadam::TensorLayout& tensors() const { return tensors_; }
  /// Weights are normal with deviation √(2 / inputs), in the last layer a tenth of that: the first
  /// predictions are close to "nothing changes". Biases are zero. A pure function of the seed.
  void initialise(const kadam::HostVector<float>& parameters, std::uint64_t seed) const;

  /// Inputs and targets, which the caller fills. Shape: [examples][inputs + 1], the last column 1;
  /// [examples][outputs].
  [[nodiscard]] Matrix inputs(std::int64_t examples) const {
    return first_rows(layers_.front().in, examples);
  }
  [[nodiscard]] Matrix targets(std::int64_t examples) const { return first_rows(targets_, examples); }

  /// The outputs for the first `examples` rows of inputs(), valid until the next call. Enqueued on exec.
  Matrix predict(const kadam::ExecutionSpace& exec, const kadam::Vector<const float>& parameters,
                 std::int64_t examples) const;
  /// Returns the mean squared error of inputs() and targets(); writes its derivative to `gradient`. Calls
  /// ready(range) for each part of the gradient once the last kernel that writes it is enqueued. Waits for
  /// the forward pass, not for the backward pass.
  double loss_and_gradient(const kadam::ExecutionSpace& exec, const kadam::Vector<const float>& parameters,
                           const kadam::Vector<float>& gradient, std::int64_t examples,
                           const std::function<void(const kadam::ElementRange&)>& ready) const;

 private:
  struct Layer {
    kadam::ElementRange range;  ///< of its parameters
    std::int64_t rows = 0;      ///< inputs + 1
    std::int64_t columns = 0;   ///< outputs
    Matrix in;
    Matrix out;       ///< before GELU
    Matrix gradient;  ///< derivative of the loss by `out`

    [[nodiscard]] ConstMatrix weights(const kadam::Vector<const float>& parameters) const;
  };

  kadam::TensorLayout tensors_;
  std::vector<Layer> layers_;
  Matrix targets_;
};

}  // namespace gray_scott
