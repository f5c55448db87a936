// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/matrix.hpp>
#include <workloads/parameters.hpp>

#include <cstdint>
#include <string>

namespace kadam::workloads {

/// y = γ (x - mean) / √(variance + 1e-5) + β over each row (Ba, Kiros, Hinton 2016).
/// Shape: x, y [n][width]; γ, β [width].
class LayerNorm {
 public:
  LayerNorm(TensorLayoutBuilder& layout, const std::string& name, std::int64_t width);

  /// γ = 1, β = 0.
  void initialise(const Initialiser& initialiser) const;

  /// `statistics` [n][2] keeps mean and 1/√(variance + 1e-5) of each row for the backward pass.
  void forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
               const Matrix<const float>& x, const Matrix<float>& statistics, const Matrix<float>& y) const;

  /// dγ = Σ dy x̂ and dβ = Σ dy.
  void backward_parameters(const ExecutionSpace& exec, const Matrix<const float>& x,
                           const Matrix<const float>& statistics, const Matrix<const float>& dy,
                           const GradientSink& gradient) const;

  /// dx += (g - mean(g) - x̂ mean(g x̂)) / √(variance + 1e-5) with g = γ dy. Adds, because dx
  /// already holds the gradient of the residual path.
  void backward_input(const ExecutionSpace& exec, const Vector<const float>& parameters,
                      const Matrix<const float>& x, const Matrix<const float>& statistics,
                      const Matrix<const float>& dy, const Matrix<float>& dx) const;

 private:
  std::int64_t width_;
  std::int64_t scale_;
  std::int64_t shift_;
};

}  // namespace kadam::workloads
