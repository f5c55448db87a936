// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/newton_schulz.hpp>
#include <kadam/config.hpp>
#include <kadam/kernels/matrix_product.hpp>

#ifdef KADAM_ENABLE_KOKKOS_KERNELS
#include <KokkosBlas3_gemm.hpp>
#endif

#include <algorithm>
#include <utility>

namespace kadam {
namespace {

constexpr int iterations = 5;
constexpr MatrixPolynomial coefficients = {3.4445F, -4.7750F, 2.0315F};

/// Extents of the workspace.
struct Largest {
  std::int64_t elements = 0;
  std::int64_t short_side = 0;

  explicit Largest(const std::vector<MatrixPlace>& places) {
    for (const MatrixPlace& place : places) {
      elements = std::max(elements, place.elements());
      short_side = std::max(short_side, place.short_side());
    }
  }
};

template <class T>
RowMajor<T, MemorySpace> matrix(const Vector<float>& values, std::int64_t rows, std::int64_t columns) {
  return {values.data(), static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)};
}

using Read = RowMajor<const float, MemorySpace>;
using Written = RowMajor<float, MemorySpace>;

/// C = Aᵀ B
void transposed_product(const ExecutionSpace& exec, const Read& a, const Read& b, const Written& c) {
#ifdef KADAM_ENABLE_KOKKOS_KERNELS
  // On devices Kokkos Kernels adds up so small products by atomics: other bits in every run.
  constexpr std::size_t added_by_atomics_below = 100;
  if (kernels_run_on_host || c.size() >= added_by_atomics_below) {
    KokkosBlas::gemm(exec, "T", "N", 1.0F, a, b, 0.0F, c);
    return;
  }
#endif
  multiply_atb<ExecutionSpace, MemorySpace>(exec, a, b, c);
}

/// C = A B
void product(const ExecutionSpace& exec, const Read& a, const Read& b, const Written& c) {
#ifdef KADAM_ENABLE_KOKKOS_KERNELS
  KokkosBlas::gemm(exec, "N", "N", 1.0F, a, b, 0.0F, c);
#else
  multiply_ab<ExecutionSpace, MemorySpace>(exec, a, b, c);
#endif
}

}  // namespace

NewtonSchulz::NewtonSchulz(const ExecutionSpace& exec, const std::vector<MatrixPlace>& places) {
  const Largest largest(places);
  const std::int64_t square = largest.short_side * largest.short_side;
  x_ = allocate<float>(exec, "kadam::NewtonSchulz::x", largest.elements);
  next_ = allocate<float>(exec, "kadam::NewtonSchulz::next", largest.elements);
  gram_ = allocate<float>(exec, "kadam::NewtonSchulz::gram", square);
  polynomial_ = allocate<float>(exec, "kadam::NewtonSchulz::polynomial", square);
  squares_ = allocate<double>(exec, "kadam::NewtonSchulz::squares", nesterov_partial_sums(largest.elements));
  factor_ = allocate<float>(exec, "kadam::NewtonSchulz::factor", 1);
}

std::size_t NewtonSchulz::memory_bytes(const std::vector<MatrixPlace>& places) {
  const Largest largest(places);
  const auto floats =
      static_cast<std::size_t>(2 * largest.elements + 2 * largest.short_side * largest.short_side + 1);
  return floats * sizeof(float) +
         static_cast<std::size_t>(nesterov_partial_sums(largest.elements)) * sizeof(double);
}

double NewtonSchulz::multiplications(const std::vector<MatrixPlace>& places) {
  double sum = 0.0;
  for (const MatrixPlace& place : places) {
    const auto side = static_cast<double>(place.short_side());
    sum += iterations * (2.0 * side * static_cast<double>(place.elements()) + side * side * side);
  }
  return sum;
}

Vector<const float> NewtonSchulz::direction(const ExecutionSpace& exec, const MatrixPlace& place,
                                            const Ema& first, float gradient_scale,
                                            const Numbers<MemorySpace>& gradient, const Vector<float>& m) {
  nesterov_direction(exec, place, first, gradient_scale, gradient, m, x_, squares_, factor_);
  for (int k = 0; k < iterations; ++k) iterate(exec, place.long_side(), place.short_side());
  return x_;
}

void NewtonSchulz::iterate(const ExecutionSpace& exec, std::int64_t rows, std::int64_t columns) {
  const Read x = matrix<const float>(x_, rows, columns);
  const Read gram = matrix<const float>(gram_, columns, columns);
  transposed_product(exec, x, x, matrix<float>(gram_, columns, columns));
  product(exec, gram, gram, matrix<float>(polynomial_, columns, columns));
  finish_polynomial<ExecutionSpace, MemorySpace>(exec, columns, coefficients, gram_, polynomial_);
  product(exec, x, matrix<const float>(polynomial_, columns, columns), matrix<float>(next_, rows, columns));
  std::swap(x_, next_);
}

}  // namespace kadam
