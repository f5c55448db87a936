// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/initialiser.hpp>
#include <workloads/layers/linear.hpp>
#include <workloads/matrix.hpp>

#include <cstdint>

namespace kadam::workloads {

/// Images of [channels][height][width] cut into squares of `patch` x `patch` pixels, line by line.
struct PatchGrid {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t patch = 1;

  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t across() const { return width / patch; }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t patches() const { return height / patch * across(); }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t patch_pixels() const { return channels * patch * patch; }
};

/// y(n, :) = W p_n + b for each patch p_n of each image: a convolution whose stride is its side.
/// Shape: p [examples * patches][channels * patch * patch], y [examples * patches][width].
class PatchEmbedding {
 public:
  PatchEmbedding(TensorLayoutBuilder& layout, const PatchGrid& grid, std::int64_t width)
      : grid_(grid), projection_(layout, "patch_embedding", grid.patch_pixels(), width) {}

  void initialise(const Initialiser& initialiser) const;

  /// Keeps the patches for the way back.
  void forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
               const Vector<const float>& images, const Matrix<float>& patches, const Matrix<float>& y) const;

  /// Gradients of W and b. There is none of the images.
  void backward(const ExecutionSpace& exec, const Matrix<const float>& patches, const Matrix<const float>& dy,
                const GradientSink& gradient) const {
    projection_.backward_parameters(exec, patches, dy, gradient);
  }

 private:
  PatchGrid grid_;
  Linear projection_;
};

}  // namespace kadam::workloads
