// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// Products of row-major matrices without a BLAS: for builds that have none, and for products that a BLAS
/// would add up in another order in every run. Each element is one sum, its terms added in order, whatever
/// the number of threads.
namespace kadam {

/// A row-major matrix in somebody else's memory.
template <class T, class MemorySpace>
using RowMajor = Kokkos::View<T**, Kokkos::LayoutRight, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

namespace detail {

/// One element of op(A) B, where element (term, row) of op(A) is at a[term * per_term + row * per_row].
struct ProductShape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t terms;
  std::int64_t per_term;
  std::int64_t per_row;
};

/// A CPU's thread: four rows and 16 columns at a time stay in registers; each row of B is read once for them.
struct MultiplyRows {
  static constexpr std::int64_t rows_at_a_time = 4;
  static constexpr std::int64_t columns_at_a_time = 16;

  ProductShape shape;
  const float* a;
  const float* b;
  float* c;

  KOKKOS_FUNCTION void operator()(const std::int64_t tile) const {
    const std::int64_t row = rows_at_a_time * tile;
    const std::int64_t rows = Kokkos::min(std::int64_t{rows_at_a_time}, shape.rows - row);
    for (std::int64_t x = 0; x < shape.columns; x += columns_at_a_time) {
      const std::int64_t columns = Kokkos::min(std::int64_t{columns_at_a_time}, shape.columns - x);
      if (rows == rows_at_a_time && columns == columns_at_a_time) {
        multiply(row, x, rows_at_a_time, columns_at_a_time);
      } else {
        multiply(row, x, rows, columns);
      }
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void multiply(std::int64_t row, std::int64_t x, std::int64_t rows,
                                            std::int64_t columns) const {
    float sum[rows_at_a_time][columns_at_a_time] = {};
    for (std::int64_t t = 0; t < shape.terms; ++t) {
      const float* const in = b + t * shape.columns + x;
      for (std::int64_t r = 0; r < rows; ++r) {
        const float factor = a[t * shape.per_term + (row + r) * shape.per_row];
        KADAM_SIMD
        for (std::int64_t k = 0; k < columns; ++k) sum[r][k] += factor * in[k];
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t k = 0; k < columns; ++k) c[(row + r) * shape.columns + x + k] = sum[r][k];
    }
  }
};

/// A GPU's thread: one element; neighbours read neighbours of B.
struct MultiplyElement {
  ProductShape shape;
  const float* a;
  const float* b;
  float* c;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const std::int64_t row = i / shape.columns;
    const std::int64_t x = i % shape.columns;
    float sum = 0.0F;
    for (std::int64_t t = 0; t < shape.terms; ++t) {
      sum += a[t * shape.per_term + row * shape.per_row] * b[t * shape.columns + x];
    }
    c[i] = sum;
  }
};

/// A GPU's team: one element of few, of which each has many terms.
struct MultiplyTerms {
  ProductShape shape;
  const float* a;
  const float* b;
  float* c;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t i) const {
    const std::int64_t row = i / shape.columns;
    const std::int64_t x = i % shape.columns;
    const double sum = member.sum(shape.terms, [&](const std::int64_t t) {
      return static_cast<double>(a[t * shape.per_term + row * shape.per_row] * b[t * shape.columns + x]);
    });
    member.once([&] { c[i] = static_cast<float>(sum); });
  }
};

template <class Exec>
void multiply(const char* label, const Exec& exec, const ProductShape& shape, const float* a, const float* b,
              float* c) {
  using Index = Kokkos::IndexType<std::int64_t>;
  const std::int64_t elements = shape.rows * shape.columns;
  if constexpr (one_thread_per_block<Exec>) {
    constexpr std::int64_t height = MultiplyRows::rows_at_a_time;
    Kokkos::parallel_for(label, Kokkos::RangePolicy<Exec, Index>(exec, 0, (shape.rows + height - 1) / height),
                         MultiplyRows{shape, a, b, c});
  } else if (shape.terms > 16 * elements) {
    for_each_block(label, exec, 0, elements, MultiplyTerms{shape, a, b, c});
  } else {
    Kokkos::parallel_for(label, Kokkos::RangePolicy<Exec, Index>(exec, 0, elements),
                         MultiplyElement{shape, a, b, c});
  }
}

}  // namespace detail

/// C = A B. Shape: A [m][k], B [k][n], C [m][n], none of them in another's place.
/// Work: 2 m k n operations.
template <class Exec, class MemorySpace>
void multiply_ab(const Exec& exec, const RowMajor<const float, MemorySpace>& a,
                 const RowMajor<const float, MemorySpace>& b, const RowMajor<float, MemorySpace>& c) {
  const auto m = static_cast<std::int64_t>(a.extent(0));
  const auto k = static_cast<std::int64_t>(a.extent(1));
  const auto n = static_cast<std::int64_t>(b.extent(1));
  detail::multiply("kadam::multiply_ab", exec, {m, n, k, 1, k}, a.data(), b.data(), c.data());
}

/// C = Aᵀ B. Shape: A [k][m], B [k][n], C [m][n], none of them in another's place.
template <class Exec, class MemorySpace>
void multiply_atb(const Exec& exec, const RowMajor<const float, MemorySpace>& a,
                  const RowMajor<const float, MemorySpace>& b, const RowMajor<float, MemorySpace>& c) {
  const auto k = static_cast<std::int64_t>(a.extent(0));
  const auto m = static_cast<std::int64_t>(a.extent(1));
  const auto n = static_cast<std::int64_t>(b.extent(1));
  detail::multiply("kadam::multiply_atb", exec, {m, n, k, m, 1}, a.data(), b.data(), c.data());
}

}  // namespace kadam
