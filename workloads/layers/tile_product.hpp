// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/layers/row.hpp>

#include <cstdint>
#include <cstring>

/// Products of small matrices inside a row kernel, the sums held in registers.
namespace kadam::workloads {

/// An operand of tile_product(): element (t, r) lies at data[t * per_term + r * per_row].
struct TileOperand {
  const float* data;
  std::int64_t per_term;
  std::int64_t per_row;
};

/// Largest number of rows of a tile: four sums of 16 lanes fill half the registers of AVX2, and each element
/// of b that is read serves four products.
KOKKOS_INLINE_FUNCTION constexpr std::int64_t tile_rows() {
  return 4;
}

/// Size of a tile: `rows` at most tile_rows(), `columns` and `terms` any.
struct TileShape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t terms;
};

namespace detail {

#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__)

/// A vector of floats: compilers do not keep an array of partial sums in vector registers by themselves.
template <int lanes>
struct Lanes {
  using Type __attribute__((vector_size(lanes * sizeof(float)))) = float;
};

template <int lanes, class Store>
inline void tile_block(const TileShape& shape, std::int64_t x, const float* const (&a)[4],
                       std::int64_t a_per_term, const TileOperand& b, const Store& store) {
  typename Lanes<lanes>::Type sum[4] = {};
  for (std::int64_t t = 0; t < shape.terms; ++t) {
    typename Lanes<lanes>::Type in;
    std::memcpy(&in, b.data + t * b.per_term + x, sizeof(in));
    for (int r = 0; r < 4; ++r) {
      sum[r] += a[r][t * a_per_term] * in;
    }
  }
  for (int r = 0; r < 4 && r < shape.rows; ++r) {
    for (int lane = 0; lane < lanes; ++lane) {
      store(r, x + lane, sum[r][lane]);
    }
  }
}

#else

template <int lanes, class Store>
KOKKOS_INLINE_FUNCTION void tile_block(const TileShape& shape, std::int64_t x, const float* const (&a)[4],
                                       std::int64_t a_per_term, const TileOperand& b, const Store& store) {
  float sum[4][lanes] = {};
  for (std::int64_t t = 0; t < shape.terms; ++t) {
    for (int r = 0; r < 4; ++r) {
      for (int lane = 0; lane < lanes; ++lane) {
        sum[r][lane] += a[r][t * a_per_term] * b.data[t * b.per_term + x + lane];
      }
    }
  }
  for (int r = 0; r < 4 && r < shape.rows; ++r) {
    for (int lane = 0; lane < lanes; ++lane) {
      store(r, x + lane, sum[r][lane]);
    }
  }
}

#endif

}  // namespace detail

/// Calls store(r, x, Σ_t a(t, r) b(t, x)) for r in [0, rows) and x in [0, columns), terms added in order.
/// b is contiguous along x: its `per_row` is 1.
template <class Store>
KOKKOS_INLINE_FUNCTION void tile_product(const RowMember& member, const TileShape& shape,
                                         const TileOperand& a, const TileOperand& b, const Store& store) {
  // Rows beyond the last are computed like the last and not stored.
  const float* rows[4];
  for (std::int64_t r = 0; r < 4; ++r) {
    rows[r] = a.data + (r < shape.rows ? r : shape.rows - 1) * a.per_row;
  }
  if constexpr (one_thread_per_row) {
    std::int64_t x = 0;
    for (; x + 16 <= shape.columns; x += 16) {
      detail::tile_block<16>(shape, x, rows, a.per_term, b, store);
    }
    for (; x + 8 <= shape.columns; x += 8) {
      detail::tile_block<8>(shape, x, rows, a.per_term, b, store);
    }
    for (; x < shape.columns; ++x) {
      detail::tile_block<1>(shape, x, rows, a.per_term, b, store);
    }
  } else {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, shape.columns), [&](std::int64_t x) {
      detail::tile_block<1>(shape, x, rows, a.per_term, b, store);
    });
  }
}

}  // namespace kadam::workloads
