// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/layers/convolution.hpp>
#include <workloads/matrix.hpp>

namespace kadam::workloads {

/// The shape after 2 x 2 pooling: an odd last line or column is dropped.
[[nodiscard]] inline ImageShape pooled(const ImageShape& shape) {
  return {shape.examples, shape.height / 2, shape.width / 2};
}

/// ReLU and 2 x 2 max-pooling at once: y(v, u, c) = max(0, max of the four x of its window).
/// Shape: x [shape.pixels()][channels], y [pooled(shape).pixels()][channels].
void rectified_max_pool(const ExecutionSpace& exec, const ImageShape& shape, const Matrix<const float>& x,
                        const Matrix<float>& y);

/// dx is dy at the first largest x of each window, if that is positive, and 0 elsewhere.
void rectified_max_pool_backward(const ExecutionSpace& exec, const ImageShape& shape,
                                 const Matrix<const float>& x, const Matrix<const float>& dy,
                                 const Matrix<float>& dx);

}  // namespace kadam::workloads
