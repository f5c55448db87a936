// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/layers/linear.hpp>
#include <workloads/matrix.hpp>
#include <workloads/parameters.hpp>

#include <cstdint>
#include <string>

namespace kadam::workloads {

/// A batch of images in the order [examples][height][width][channels]: one matrix row per pixel.
struct ImageShape {
  std::int64_t examples = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;

  [[nodiscard]] std::int64_t pixels() const { return examples * height * width; }
};

/// 3 x 3 convolution with zeros around the image:
/// y(v, u, o) = b_o + Σ_{i, j, c} W(o, i, j, c) x(v + i - 1, u + j - 1, c).
/// Gathers the 3 x 3 neighbourhood of each pixel into a row of `columns` and multiplies (im2col).
/// Shape: x [pixels][inputs], columns [pixels][9 * inputs], y [pixels][outputs], W [outputs][3][3][inputs].
class Convolution {
 public:
  static constexpr std::int64_t taps = 9;

  Convolution(TensorLayoutBuilder& layout, const std::string& name, std::int64_t inputs, std::int64_t outputs)
      : product_(layout, name, taps * inputs, outputs) {}

  void initialise(const Initialiser& initialiser, double deviation) const {
    product_.initialise(initialiser, deviation);
  }

  void forward(const ExecutionSpace& exec, const Vector<const float>& parameters, const ImageShape& shape,
               const Matrix<const float>& x, const Matrix<float>& columns, const Matrix<float>& y) const;

  /// Gradients of W and b from the forward pass's `columns`.
  void backward_parameters(const ExecutionSpace& exec, const Matrix<const float>& columns,
                           const Matrix<const float>& dy, const GradientSink& gradient) const {
    product_.backward_parameters(exec, columns, dy, gradient);
  }

  /// Gradient of the input; `dcolumns` is scratch of the shape of `columns`.
  void backward_input(const ExecutionSpace& exec, const Vector<const float>& parameters,
                      const ImageShape& shape, const Matrix<const float>& dy, const Matrix<float>& dcolumns,
                      const Matrix<float>& dx) const;

 private:
  Linear product_;
};

/// Copies images [examples][channels][height][width] to x, one matrix row per pixel.
void channels_last(const ExecutionSpace& exec, const ImageShape& shape, const Vector<const float>& images,
                   const Matrix<float>& x);

}  // namespace kadam::workloads
