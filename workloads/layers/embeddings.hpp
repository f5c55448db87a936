// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/layers/linear.hpp>
#include <workloads/layers/rows_by_token.hpp>
#include <workloads/matrix.hpp>
#include <workloads/parameters.hpp>

#include <cstdint>

namespace kadam::workloads {

/// Scratch for the gradient of a table on a GPU; empty on a CPU.
struct TokenGradientScratch {
  RowsByToken order;
  Matrix<float> runs;  ///< [rows / 64][width]: sums of 64 sorted rows each

  TokenGradientScratch() = default;
  TokenGradientScratch(Arena& arena, std::int64_t rows, std::int64_t vocabulary, std::int64_t width);
};

/// x(n, :) = table(token_n, :). Shape: table [vocabulary][width], x [tokens][width].
class TokenEmbedding {
 public:
  TokenEmbedding(TensorLayoutBuilder& layout, std::int64_t vocabulary, std::int64_t width);

  void initialise(const Initialiser& initialiser, double deviation) const;

  void forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
               const Vector<const std::int32_t>& tokens, const Matrix<float>& x) const;

  /// Each row of the table gathers the rows of dx that used it, in order: the same in every run.
  void backward(const ExecutionSpace& exec, const Vector<const std::int32_t>& tokens,
                const Matrix<const float>& dx, const TokenGradientScratch& scratch,
                const GradientSink& gradient) const;

 private:
  std::int64_t vocabulary_;
  std::int64_t width_;
  std::int64_t table_;
};

/// x(n, :) += table(n mod positions, :). Shape: table [positions][width], x [examples * positions][width].
class PositionEmbedding {
 public:
  PositionEmbedding(TensorLayoutBuilder& layout, std::int64_t positions, std::int64_t width);

  void initialise(const Initialiser& initialiser, double deviation) const;

  void add_to(const ExecutionSpace& exec, const Vector<const float>& parameters,
              const Matrix<float>& x) const;

  /// Each row of the table gathers the rows of dx at its position, in order: no atomics.
  void backward(const ExecutionSpace& exec, const Matrix<const float>& dx,
                const GradientSink& gradient) const;

 private:
  std::int64_t positions_;
  std::int64_t width_;
  std::int64_t table_;
};

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

/// y(n, :) = W p_n + b for each patch p_n of each image: a convolution whose stride is the side of its
/// kernel. Shape: p [examples * patches][channels * patch * patch], y [examples * patches][width].
class PatchEmbedding {
 public:
  PatchEmbedding(TensorLayoutBuilder& layout, const PatchGrid& grid, std::int64_t width)
      : grid_(grid), projection_(layout, "patch_embedding", grid.patch_pixels(), width) {}

  void initialise(const Initialiser& initialiser) const;

  /// Copies the pixels of each patch to `patches`, which backward() needs, and writes y.
  void forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
               const Vector<const float>& images, const Matrix<float>& patches, const Matrix<float>& y) const;

  /// Gradients of W and b; images have none.
  void backward(const ExecutionSpace& exec, const Matrix<const float>& patches, const Matrix<const float>& dy,
                const GradientSink& gradient) const {
    projection_.backward_parameters(exec, patches, dy, gradient);
  }

 private:
  PatchGrid grid_;
  Linear projection_;
};

}  // namespace kadam::workloads
