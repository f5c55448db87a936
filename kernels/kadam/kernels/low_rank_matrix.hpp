// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/on_device.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam {

/// A matrix M, row-major in a flat vector, and the places of its factors: M is about P Rᵀ. P (rows x rank)
/// has orthonormal columns, those of M Q; R (columns x rank) is Mᵀ P; Q is the R of the step before. One
/// buffer holds all P, one all Q, one all R; the columns of a factor lie one after the other in it.
struct LowRankMatrix {
  std::int64_t begin = 0;  ///< first element in the flat vector
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t rank = 0;       ///< columns of a factor
  std::int64_t q = 0;          ///< first element of Q; the buffer may also hold Q of other matrices
  std::int64_t tensor = 0;     ///< number among all tensors: chooses the seed matrix
  std::int64_t left = 0;       ///< first element of P, in the buffer of all P
  std::int64_t right = 0;      ///< first element of R, in the buffer of all R
  std::int64_t left_sums = 0;  ///< M Q: part s of row i, column c is at left_sums + (s rank + c) rows + i
  std::int64_t right_sums =
      0;  ///< Mᵀ P: part s of row j, column c is at right_sums + (s rank + c) columns + j
  std::int64_t row_tiles = 0;  ///< number of row tiles of all matrices before this one
  std::int64_t tiles = 0;      ///< number of tiles of all matrices before this one

  /// Rows and columns of M in a row tile, the unit of work of M Q: a partial sum of M Q has up to
  /// columns_of_row_tile terms. A thread of a GPU reads Q once for the four rows, and keeps the sums of eight
  /// columns of Q in registers; a long row leaves few partial sums.
  static constexpr std::int64_t rows_of_row_tile = 4;
  static constexpr std::int64_t columns_of_row_tile = 8192;
  /// Rows and columns of M in a tile, the unit of work of Mᵀ P and of P Rᵀ: a partial sum of Mᵀ P has up to
  /// rows_of_tile terms. The sums of 256 columns with eight columns of P, 16 KiB, stay in a CPU's innermost
  /// cache; the partial sums of 128 rows take 8/128 bytes per element and column of P.
  static constexpr std::int64_t rows_of_tile = 128;
  static constexpr std::int64_t columns_of_tile = 256;

  /// Partial sums of each element of M Q.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t left_parts() const {
    return (columns + columns_of_row_tile - 1) / columns_of_row_tile;
  }
  /// Partial sums of each element of Mᵀ P.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t right_parts() const {
    return (rows + rows_of_tile - 1) / rows_of_tile;
  }
  /// Tiles that lie side by side over the columns.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t strips() const {
    return (columns + columns_of_tile - 1) / columns_of_tile;
  }
  /// Row tiles of this matrix.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t own_row_tiles() const {
    return (rows + rows_of_row_tile - 1) / rows_of_row_tile * left_parts();
  }
};

/// Lengths of the buffers that hold the factors and partial sums of a list of matrices, and the numbers of
/// its tiles.
struct LowRankExtents {
  std::int64_t left = 0;   ///< P of all matrices, in elements
  std::int64_t right = 0;  ///< R of all matrices, in elements
  std::int64_t left_sums = 0;
  std::int64_t right_sums = 0;
  std::int64_t row_tiles = 0;
  std::int64_t tiles = 0;
};

/// Places P, R, partial sums and tiles of the matrices one after the other: sets left, right, left_sums,
/// right_sums, row_tiles and tiles of each, and returns the lengths. rows, columns and rank must be set;
/// begin, q and tensor stay as they are.
inline LowRankExtents place_factors(std::vector<LowRankMatrix>& matrices) {
  LowRankExtents all;
  for (LowRankMatrix& matrix : matrices) {
    matrix.left = all.left;
    matrix.right = all.right;
    matrix.left_sums = all.left_sums;
    matrix.right_sums = all.right_sums;
    matrix.row_tiles = all.row_tiles;
    matrix.tiles = all.tiles;
    all.left += matrix.rank * matrix.rows;
    all.right += matrix.rank * matrix.columns;
    all.left_sums += matrix.left_parts() * matrix.rank * matrix.rows;
    all.right_sums += matrix.right_parts() * matrix.rank * matrix.columns;
    all.row_tiles += matrix.own_row_tiles();
    all.tiles += matrix.right_parts() * matrix.strips();
  }
  return all;
}

/// A list of matrices in memory that kernels reach, and the lengths of their buffers.
template <class MemorySpace>
struct LowRankMatrices {
  Kokkos::View<const LowRankMatrix*, MemorySpace> all;
  LowRankExtents extents;

  /// Copies matrices that place_factors() has placed; extents: the lengths that it returned. Waits for the
  /// copy.
  [[nodiscard]] static LowRankMatrices make(const std::vector<LowRankMatrix>& matrices,
                                            const LowRankExtents& extents) {
    return {on_device<MemorySpace>("kadam::LowRankMatrices", matrices), extents};
  }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(all.extent(0)); }

  /// The matrix that `tile` belongs to. first: &LowRankMatrix::row_tiles for the number of a row tile,
  /// &LowRankMatrix::tiles for that of a tile.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION LowRankMatrix of_tile(std::int64_t LowRankMatrix::*first,
                                                                  std::int64_t tile) const {
    std::size_t low = 0;  // the last matrix that begins at this tile or before
    std::size_t high = all.extent(0) - 1;
    while (low < high) {
      const std::size_t middle = low + (high - low + 1) / 2;
      if (all(middle).*first <= tile) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return all(low);
  }
};

}  // namespace kadam
