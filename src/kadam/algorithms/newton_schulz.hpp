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
///   m <- ema(m, g, beta1);  w = ema(m, g, beta1);  X <- w / (|w| + 1e-7), its longer side as rows
///   5 times:  A = Xᵀ X;  X <- X (a I + b A + c A²)        (a, b, c) = (3.4445, -4.7750, 2.0315)
///
/// All singular values end between 0.7 and 1.2; those of a matrix of zeros stay 0. Float32 throughout. Built
/// with KADAM_ENABLE_KOKKOS_KERNELS the products are those of Kokkos Kernels, which hands them to a BLAS; a
/// BLAS gives the same bits for the same processor and number of threads. Without it they are
/// kernels/matrix_product.hpp: slower, and the same bits for any number of threads.
///
/// Work: 5 (4 min² max + 2 min³) operations. Memory: two matrices as large as the largest and two of its
/// shorter side squared. Worked number: 1024 x 4096: 9.7e10 operations, 40 MiB.
class NewtonSchulz {
 public:
  NewtonSchulz() = default;
  /// For matrices no larger than the largest of these.
  NewtonSchulz(const ExecutionSpace& exec, const std::vector<MatrixPlace>& places);

  /// Moves m, and returns the direction of the matrix, tall; valid until the next call. Async.
  [[nodiscard]] Vector<const float> direction(const ExecutionSpace& exec, const MatrixPlace& place,
                                              const Ema& first, float gradient_scale,
                                              const Numbers<MemorySpace>& gradient, const Vector<float>& m);

  [[nodiscard]] static std::size_t memory_bytes(const std::vector<MatrixPlace>& places);
  /// Multiplications of a step with these matrices, each with an addition.
  [[nodiscard]] static double multiplications(const std::vector<MatrixPlace>& places);

 private:
  void iterate(const ExecutionSpace& exec, std::int64_t rows, std::int64_t columns);

  Vector<float> x_;
  Vector<float> next_;
  Vector<float> gram_;        ///< A
  Vector<float> polynomial_;  ///< a I + b A + c A²
  Vector<double> squares_;
  Vector<float> factor_;
};

}  // namespace kadam
