// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/arena.hpp>
#include <workloads/initialiser.hpp>
#include <workloads/layers/layer_norm.hpp>
#include <workloads/layers/linear.hpp>

#include <cstdint>

namespace kadam::workloads {

/// The last layer norm of a transformer and the projection onto classes: logits = W LN(x) + b, for each row
/// of x, of which a model gives as many as it predicts. Shape: x [n][width], logits [n][classes].
class TransformerHead {
 public:
  TransformerHead(TensorLayoutBuilder& layout, std::int64_t width, std::int64_t classes);

  /// W normal with the given deviation.
  void initialise(const Initialiser& initialiser, double deviation) const;
  void carve(Arena& arena, std::int64_t rows);

  [[nodiscard]] const Matrix<float>& forward(const ExecutionSpace& exec,
                                             const Vector<const float>& parameters,
                                             const Matrix<const float>& x) const;

  /// Writes the gradients of W, b, LN's parameters and x.
  void backward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                const Matrix<const float>& x, const Matrix<const float>& dlogits, const Matrix<float>& dx,
                const GradientSink& gradient) const;

 private:
  LayerNorm norm_;
  Linear output_;
  Matrix<float> statistics_, normalised_, dnormalised_, logits_;
};

}  // namespace kadam::workloads
