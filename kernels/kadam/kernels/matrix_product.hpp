// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

/// Products of row-major matrices without a BLAS: for builds that have none, and for products that a BLAS
/// would add up in another order in every run. The order of an element's sum does not depend on the number of
/// threads: one float32 sum, its terms added in order. An exception: on a GPU, where C has few elements with
/// many terms, a team adds up each element in double.
namespace kadam {

/// A row-major matrix in somebody else's memory.
template <class T, class MemorySpace>
using RowMajor = Kokkos::View<T**, Kokkos::LayoutRight, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

namespace detail {

/// Element (i, j) of a factor is at data[i * per_row + j * per_column].
struct Factor {
  const float* data;
  std::int64_t per_row;
  std::int64_t per_column;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float at(std::int64_t i, std::int64_t j) const {
    return data[i * per_row + j * per_column];
  }
};

/// C = A B, where A is rows x terms and B is terms x columns.
struct Product {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t terms;
  Factor a;
  Factor b;
  float* c;
  std::int64_t per_row;  ///< elements from a row of C to the next

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float& result(std::int64_t row, std::int64_t column) const {
    return c[row * per_row + column];
  }
};

/// Computes four rows of C by one thread of a CPU: the sums of 16 columns at a time stay in registers, four
/// of 512 bits or eight of 256, and each row of B is read once for the four rows. Of a transposed B 64 rows
/// at a time are packed for them: 4 KiB, which stay in the innermost cache.
struct MultiplyRows {
  static constexpr std::int64_t rows_at_a_time = 4;
  static constexpr std::int64_t columns_at_a_time = 16;
  static constexpr std::int64_t terms_at_a_time = 64;

  Product of;

  KOKKOS_FUNCTION void operator()(const std::int64_t tile) const {
    const std::int64_t row = rows_at_a_time * tile;
    const std::int64_t rows = Kokkos::min(std::int64_t{rows_at_a_time}, of.rows - row);
    for (std::int64_t x = 0; x < of.columns; x += columns_at_a_time) {
      const std::int64_t columns = Kokkos::min(std::int64_t{columns_at_a_time}, of.columns - x);
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
    float packed[terms_at_a_time][columns_at_a_time];
    for (std::int64_t first = 0; first < of.terms; first += terms_at_a_time) {
      const std::int64_t terms = Kokkos::min(std::int64_t{terms_at_a_time}, of.terms - first);
      const bool lies_in_rows = of.b.per_column == 1;
      if (!lies_in_rows) pack(first, terms, x, columns, packed);
      const float* in = lies_in_rows ? of.b.data + first * of.b.per_row + x : packed[0];
      const std::int64_t per_term = lies_in_rows ? of.b.per_row : std::int64_t{columns_at_a_time};
      for (std::int64_t t = 0; t < terms; ++t, in += per_term) {
        for (std::int64_t r = 0; r < rows; ++r) {
          const float factor = of.a.at(row + r, first + t);
          KADAM_SIMD
          for (std::int64_t k = 0; k < columns; ++k) sum[r][k] += factor * in[k];
        }
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t k = 0; k < columns; ++k) of.result(row + r, x + k) = sum[r][k];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void pack(std::int64_t first, std::int64_t terms, std::int64_t x,
                                        std::int64_t columns, float (*packed)[columns_at_a_time]) const {
    for (std::int64_t k = 0; k < columns; ++k) {
      for (std::int64_t t = 0; t < terms; ++t) packed[t][k] = of.b.at(first + t, x + k);
    }
  }
};

/// Computes one element of C by one thread of a GPU; neighbouring threads read neighbouring columns of B.
struct MultiplyElement {
  Product of;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const std::int64_t row = i / of.columns;
    const std::int64_t x = i % of.columns;
    float sum = 0.0F;
    for (std::int64_t t = 0; t < of.terms; ++t) sum += of.a.at(row, t) * of.b.at(t, x);
    of.result(row, x) = sum;
  }
};

/// Computes one element of C by a team of a GPU: for a C of few elements with many terms each.
struct MultiplyTerms {
  Product of;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t i) const {
    const std::int64_t row = i / of.columns;
    const std::int64_t x = i % of.columns;
    const double sum = member.sum(
        of.terms, [&](const std::int64_t t) { return static_cast<double>(of.a.at(row, t) * of.b.at(t, x)); });
    member.once([&] { of.result(row, x) = static_cast<float>(sum); });
  }
};

template <class Exec>
void multiply(const char* label, const Exec& exec, const Product& of) {
  using Index = Kokkos::IndexType<std::int64_t>;
  const std::int64_t elements = of.rows * of.columns;
  if constexpr (one_thread_per_block<Exec>) {
    constexpr std::int64_t height = MultiplyRows::rows_at_a_time;
    Kokkos::parallel_for(label, Kokkos::RangePolicy<Exec, Index>(exec, 0, (of.rows + height - 1) / height),
                         MultiplyRows{of});
  } else if (of.terms > 16 * elements) {
    for_each_block(label, exec, 0, elements, MultiplyTerms{of});
  } else {
    Kokkos::parallel_for(label, Kokkos::RangePolicy<Exec, Index>(exec, 0, elements), MultiplyElement{of});
  }
}

template <class Matrix>
[[nodiscard]] Factor factor(const Matrix& matrix) {
  return {matrix.data(), static_cast<std::int64_t>(matrix.stride(0)), 1};
}

template <class Matrix>
[[nodiscard]] Factor transposed_factor(const Matrix& matrix) {
  return {matrix.data(), 1, static_cast<std::int64_t>(matrix.stride(0))};
}

template <class Matrix>
[[nodiscard]] Product product_of(const Factor& a, const Factor& b, std::size_t terms, const Matrix& c) {
  return {static_cast<std::int64_t>(c.extent(0)),
          static_cast<std::int64_t>(c.extent(1)),
          static_cast<std::int64_t>(terms),
          a,
          b,
          c.data(),
          static_cast<std::int64_t>(c.stride(0))};
}

}  // namespace detail

/// C = A B. Shape: A [m][k], B [k][n], C [m][n]. C overlaps neither A nor B; each may be a part of a larger
/// matrix. Work: 2 m k n operations.
template <class Exec, class MemorySpace>
void multiply_ab(const Exec& exec, const RowMajor<const float, MemorySpace>& a,
                 const RowMajor<const float, MemorySpace>& b, const RowMajor<float, MemorySpace>& c) {
  detail::multiply("kadam::multiply_ab", exec,
                   detail::product_of(detail::factor(a), detail::factor(b), a.extent(1), c));
}

/// C = Aᵀ B. Shape: A [k][m], B [k][n], C [m][n]; otherwise as multiply_ab().
template <class Exec, class MemorySpace>
void multiply_atb(const Exec& exec, const RowMajor<const float, MemorySpace>& a,
                  const RowMajor<const float, MemorySpace>& b, const RowMajor<float, MemorySpace>& c) {
  detail::multiply("kadam::multiply_atb", exec,
                   detail::product_of(detail::transposed_factor(a), detail::factor(b), a.extent(0), c));
}

/// C = A Bᵀ. Shape: A [m][k], B [n][k], C [m][n]; otherwise as multiply_ab().
template <class Exec, class MemorySpace>
void multiply_abt(const Exec& exec, const RowMajor<const float, MemorySpace>& a,
                  const RowMajor<const float, MemorySpace>& b, const RowMajor<float, MemorySpace>& c) {
  detail::multiply("kadam::multiply_abt", exec,
                   detail::product_of(detail::factor(a), detail::transposed_factor(b), a.extent(1), c));
}

}  // namespace kadam
