// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/matrix.hpp>
#include <workloads/parameters.hpp>

#include <cstdint>
#include <string>

namespace kadam::workloads {

/// y = x Wᵀ + b. Shape: x [n][inputs], W [outputs][inputs], b [outputs], y [n][outputs].
/// Holds only offsets into the parameter vector.
class Linear {
 public:
  /// Adds W and b to `layout`. spectral: false for the output layer of a model, which muon leaves to Adam.
  Linear(TensorLayoutBuilder& layout, const std::string& name, std::int64_t inputs, std::int64_t outputs,
         bool spectral = true);

  /// W normal with the given deviation, b zero.
  void initialise(const Initialiser& initialiser, double deviation) const;

  void forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
               const Matrix<const float>& x, const Matrix<float>& y) const;

  /// y = residual + x Wᵀ + b.
  void forward_onto(const ExecutionSpace& exec, const Vector<const float>& parameters,
                    const Matrix<const float>& x, const Matrix<const float>& residual,
                    const Matrix<float>& y) const;

  /// Gradients of W and b: dW = dyᵀ x, db = Σ dy.
  void backward_parameters(const ExecutionSpace& exec, const Matrix<const float>& x,
                           const Matrix<const float>& dy, const GradientSink& gradient) const;

  /// Gradient of the input: dx = dy W.
  void backward_input(const ExecutionSpace& exec, const Vector<const float>& parameters,
                      const Matrix<const float>& dy, const Matrix<float>& dx) const;

  [[nodiscard]] std::int64_t inputs() const { return inputs_; }
  [[nodiscard]] std::int64_t outputs() const { return outputs_; }

 private:
  std::int64_t inputs_;
  std::int64_t outputs_;
  std::int64_t weight_;
  std::int64_t bias_;
};

/// C = A Bᵀ + keep C. Shape: A [m][k], B [n][k], C [m][n].
void multiply_abt(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                  float keep, const Matrix<float>& c);

/// C = A B. Shape: A [m][k], B [k][n], C [m][n].
void multiply_ab(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                 const Matrix<float>& c);

/// C = Aᵀ B, the same in every run. Shape: A [k][m], B [k][n], C [m][n].
void multiply_atb(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                  Scratch& scratch, const Matrix<float>& c);

/// sums[x] = Σ_rows matrix(row, x), as sum_over_rows() adds.
void sum_rows(const ExecutionSpace& exec, const Matrix<const float>& matrix, Scratch& scratch, float* sums);

}  // namespace kadam::workloads
