// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

/// Weighted sums of symmetric matrices. Only lower triangles are read, so half of a product is enough where
/// the product is symmetric.
namespace kadam {

/// The factors of the sum diagonal I + x X + y Y + z Z.
struct SymmetricSum {
  float diagonal = 0.0F;
  float x = 0.0F;
  float y = 0.0F;
  float z = 1.0F;
};

/// Rows and columns of the tiles in which a sum is computed; 4 KiB, which stay in the innermost cache.
/// Callers may compute whole tiles of the lower triangle: above the diagonal nothing is read.
inline constexpr std::int64_t symmetric_tile = 32;

namespace detail {

template <class MemorySpace>
struct AddSymmetric {
  std::int64_t side;
  SymmetricSum sum;
  Kokkos::View<const float*, MemorySpace> x;
  Kokkos::View<const float*, MemorySpace> y;
  Kokkos::View<const float*, MemorySpace> z;
  Kokkos::View<float*, MemorySpace> out;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t tile) const {
    const std::int64_t tiles = (side + symmetric_tile - 1) / symmetric_tile;
    const std::int64_t row = tile / tiles * symmetric_tile;
    const std::int64_t column = tile % tiles * symmetric_tile;
    if (column > row) return;
    if constexpr (Member::is_one_thread) {
      add(row, column);
    } else {
      member.for_each(symmetric_tile * symmetric_tile, [&](const std::int64_t k) {
        const std::int64_t i = row + k / symmetric_tile;
        const std::int64_t j = column + k % symmetric_tile;
        if (i >= side || j > i) return;
        const float value = at(i, j);
        out(i * side + j) = value;
        out(j * side + i) = value;
      });
    }
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float at(std::int64_t i, std::int64_t j) const {
    const std::int64_t k = i * side + j;
    return sum.x * x(k) + sum.y * y(k) + sum.z * z(k) + (i == j ? sum.diagonal : 0.0F);
  }

  /// Computes a tile and its mirror image by one thread. The whole tile is read before any of it is written,
  /// because `out` may be X, Y or Z. Both triangles are written by rows.
  KOKKOS_FORCEINLINE_FUNCTION void add(std::int64_t row, std::int64_t column) const {
    float kept[symmetric_tile][symmetric_tile];
    const std::int64_t rows = Kokkos::min(symmetric_tile, side - row);
    const std::int64_t columns = Kokkos::min(symmetric_tile, side - column);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t count = row == column ? r + 1 : columns;
      KADAM_SIMD
      for (std::int64_t c = 0; c < count; ++c) kept[r][c] = at(row + r, column + c);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t count = row == column ? r + 1 : columns;
      for (std::int64_t c = 0; c < count; ++c) out((row + r) * side + column + c) = kept[r][c];
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t r = row == column ? c + 1 : 0; r < rows; ++r) {
        out((column + c) * side + row + r) = kept[r][c];
      }
    }
  }
};

}  // namespace detail

/// out <- diagonal I + x X + y Y + z Z, both triangles, exactly symmetric.
///
/// X, Y and Z are symmetric and finite, also where their factor is 0; only their lower triangles are read.
/// `out` may be one of them. Shape: all side x side, row-major. Memory: reads 6 B, writes 4 B per element.
template <class Exec, class MemorySpace>
void add_symmetric(const Exec& exec, std::int64_t side, const SymmetricSum& sum,
                   const std::type_identity_t<Kokkos::View<const float*, MemorySpace>>& x,
                   const std::type_identity_t<Kokkos::View<const float*, MemorySpace>>& y,
                   const std::type_identity_t<Kokkos::View<const float*, MemorySpace>>& z,
                   const Kokkos::View<float*, MemorySpace>& out) {
  const std::int64_t tiles = (side + symmetric_tile - 1) / symmetric_tile;
  detail::for_each_block("kadam::add_symmetric", exec, 0, tiles * tiles,
                         detail::AddSymmetric<MemorySpace>{side, sum, x, y, z, out});
}

}  // namespace kadam
