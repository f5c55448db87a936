// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/spectral_direction.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam {

/// The orthogonalised Nesterov momentum of a matrix: Newton and Schulz's iteration with the coefficients of
/// Muon (Jordan et al. 2024).
///
///   m <- ema(m, g, beta1);  w = ema(m, g, beta1);  X <- w / (|w| + 1e-7)
///   5 times:  A = Xᵀ X;  P = a I + b A + c A²;  X <- X P      (a, b, c) = (3.4445, -4.7750, 2.0315)
///   where X has fewer rows than columns:  A = X Xᵀ;  X <- P X
///
/// |w|: the Frobenius norm. Singular values of X above 0.0015 end between 0.68 and 1.21; smaller ones grow by
/// 3.4445 in each iteration, and 0 stays 0. Float32 throughout.
///
/// A is computed from X only twice. All P are polynomials in A, so the other iterations take A <- A P² and
/// multiply their P together in one matrix (Gram Newton-Schulz: Amsel, Chen, Dao et al. 2026). After three
/// iterations X is multiplied by that matrix, and A is computed from X again: otherwise rounding errors grow
/// (docs/design.md). Multiples of I are kept out of the products for the same reason. All products but the
/// two that give a new X are symmetric; half of each is computed.
///
/// Built with KADAM_ENABLE_KOKKOS_KERNELS the products are those of Kokkos Kernels, which hands them to a
/// BLAS; a BLAS gives the same bits for the same processor and number of threads. Without it they are
/// kernels/matrix_product.hpp: slower, and the same bits for any number of threads.
///
/// Work: 6.3 min² max + 16 min³ operations, where the plain iteration takes 20 min² max + 10 min³. Memory:
/// two matrices as large as the largest and four of its shorter side squared. Worked number: 1024 x
/// 4096: 4.4e10 operations (plain: 9.7e10), 48 MiB.
class NewtonSchulz {
 public:
  NewtonSchulz() = default;
  /// Allocates the workspace for these matrices. It serves any matrix with no more elements than the largest
  /// of them, whose shorter side is no longer than the longest of theirs.
  NewtonSchulz(const ExecutionSpace& exec, const std::vector<MatrixPlace>& places);

  /// Updates m with the gradient, and returns the orthogonalised momentum of the matrix at `place`,
  /// row-major, in the first elements of the result; valid until the next call. first: ema of beta1;
  /// gradient_scale: factor of clipping. Shape: gradient and m [d]. Async.
  [[nodiscard]] Vector<const float> direction(const ExecutionSpace& exec, const MatrixPlace& place,
                                              const Ema& first, float gradient_scale,
                                              const Numbers<MemorySpace>& gradient, const Vector<float>& m);

  /// Bytes of the workspace for these matrices.
  [[nodiscard]] static std::size_t memory_bytes(const std::vector<MatrixPlace>& places);
  /// Multiplications of a step with these matrices, each with an addition.
  [[nodiscard]] static double multiplications(const std::vector<MatrixPlace>& places);

 private:
  /// X <- X times the factors of `iterations` iterations, which are two at least.
  void iterate(const ExecutionSpace& exec, const MatrixPlace& place, int iterations);

  Vector<float> x_;
  Vector<float> next_;
  Vector<float> gram_;        ///< A
  Vector<float> polynomial_;  ///< P² or P, without its multiple of I
  Vector<float> factors_;     ///< product of all P, without its multiple of I until the last one
  Vector<float> product_;     ///< lower triangle of a symmetric product
  Vector<double> squares_;
  Vector<float> norm_factor_;
};

}  // namespace kadam
