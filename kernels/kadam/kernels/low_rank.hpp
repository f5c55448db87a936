// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/low_rank_matrix.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/kernels/numbers.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

/// Kernels of the low-rank mean: products of many matrices M = scale G + e with factors of few columns. One
/// launch does all matrices; with up to eight columns its time is that of reading G and e.
///
/// All sums are in double, in an order that does not depend on the number of threads, and are rounded once.
namespace kadam {

/// M = scale G + e. gradient (G) and error (e) are whole flat vectors.
template <class MemorySpace>
struct LowRankInput {
  Numbers<MemorySpace> gradient;
  float scale = 1.0F;
  Kokkos::View<float*, MemorySpace> error;
};

/// Entry i of the seed matrix (columns x rank, row-major) of a tensor: SplitMix64, in [-1, 1).
/// Worked numbers: seed 1, tensor 0: 0.13312304, 0.18237936, -0.7730994.
[[nodiscard]] KOKKOS_INLINE_FUNCTION float seed_number(std::uint64_t seed, std::int64_t tensor,
                                                       std::int64_t i) {
  std::uint64_t z = seed + (static_cast<std::uint64_t>(tensor) << 40U) + static_cast<std::uint64_t>(i) +
                    0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  z ^= z >> 31U;
  return static_cast<float>(z >> 40U) * 0x1p-23F - 1.0F;
}

namespace detail {

/// Columns of a factor that stay in registers at a time.
inline constexpr std::int64_t most_held_columns = 8;

/// Calls function(width) with the least of the compile-time widths 1, 2, 4, 8 that is not below `columns`;
/// with 8 if columns is larger.
template <class Function>
KOKKOS_FORCEINLINE_FUNCTION void with_width(std::int64_t columns, const Function& function) {
  if (columns <= 1) {
    function(std::integral_constant<int, 1>{});
  } else if (columns <= 2) {
    function(std::integral_constant<int, 2>{});
  } else if (columns <= 4) {
    function(std::integral_constant<int, 4>{});
  } else {
    function(std::integral_constant<int, 8>{});
  }
}

/// Computes one element of M.
template <Number T>
struct ValueOfM {
  const T* gradient;
  const float* error;
  double scale;
  /// Exact but for one rounding to double.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION double operator()(const std::int64_t i) const {
    return scale * static_cast<double>(to_float(gradient[i])) + static_cast<double>(error[i]);
  }
  /// Prefetches elements [first, first + count).
  KOKKOS_FORCEINLINE_FUNCTION void prefetch(std::int64_t first, std::int64_t count) const {
    detail::prefetch(gradient + first, count);
    detail::prefetch(error + first, count);
  }
};

/// Computes the partial sums of M Q for one row tile.
template <Number T, class MemorySpace>
struct MultiplyByRight {
  LowRankMatrices<MemorySpace> matrices;
  ValueOfM<T> m;
  Kokkos::View<const float*, MemorySpace> q;
  Kokkos::View<double*, MemorySpace> sums;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t tile) const {
    const LowRankMatrix matrix = matrices.of_tile(&LowRankMatrix::row_tiles, tile);
    const std::int64_t own = tile - matrix.row_tiles;
    const std::int64_t part = own % matrix.left_parts();
    const std::int64_t row = own / matrix.left_parts() * LowRankMatrix::rows_of_row_tile;
    const std::int64_t rows = Kokkos::min(std::int64_t{LowRankMatrix::rows_of_row_tile}, matrix.rows - row);
    const std::int64_t first = part * LowRankMatrix::columns_of_row_tile;
    const std::int64_t terms =
        Kokkos::min(std::int64_t{LowRankMatrix::columns_of_row_tile}, matrix.columns - first);
    for (std::int64_t c = 0; c < matrix.rank; c += most_held_columns) {
      const std::int64_t columns = Kokkos::min(std::int64_t{most_held_columns}, matrix.rank - c);
      const float* const factor = &q(matrix.q + c * matrix.columns + first);
      double* const out = &sums(matrix.left_sums + (part * matrix.rank + c) * matrix.rows + row);
      with_width(columns, [&](const auto width) {
        multiply<decltype(width)::value>(member, matrix, matrix.begin + row * matrix.columns + first, rows,
                                         terms, columns, factor, out);
      });
    }
  }

 private:
  /// By one thread: row after row, in eight sums (lanes) per column of Q.
  template <int Width>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(const HostBlockMember& /*member*/, const LowRankMatrix& matrix,
                                            std::int64_t begin, std::int64_t rows, std::int64_t terms,
                                            std::int64_t columns, const float* factor, double* out) const {
    constexpr int lanes = 8;  // doubles of a vector of 512 bits
    for (std::int64_t row = 0; row < rows; ++row) {
      double sum[Width][lanes] = {};
      const std::int64_t first = begin + row * matrix.columns;
      std::int64_t j = 0;
      for (; j + lanes <= terms; j += lanes) {
        double value[lanes];
        KADAM_SIMD
        for (int lane = 0; lane < lanes; ++lane) value[lane] = m(first + j + lane);
        for (std::int64_t c = 0; c < Width; ++c) {
          const float* const of_column = factor + (c < columns ? c : 0) * matrix.columns + j;
          KADAM_SIMD
          for (int lane = 0; lane < lanes; ++lane) {
            sum[c][lane] += value[lane] * static_cast<double>(of_column[lane]);
          }
        }
      }
      for (int lane = 0; j < terms; ++j, ++lane) {
        for (std::int64_t c = 0; c < columns; ++c) {
          sum[c][lane] += m(first + j) * static_cast<double>(factor[c * matrix.columns + j]);
        }
      }
      for (std::int64_t c = 0; c < columns; ++c) {
        double total = 0.0;
        for (const double of_lane : sum[c]) total += of_lane;
        out[c * matrix.rows + row] = total;
      }
    }
  }

  /// By a team, whose lanes are elements of a row: all rows of the tile at once, so that Q is read once.
  template <int Width, class Team>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(const TeamBlockMember<Team>& member, const LowRankMatrix& matrix,
                                            std::int64_t begin, std::int64_t rows, std::int64_t terms,
                                            std::int64_t columns, const float* factor, double* out) const {
    constexpr int height = static_cast<int>(LowRankMatrix::rows_of_row_tile);
    double sum[height * Width] = {};
    // In place of rows and columns that do not exist the last ones are read, and their sums are not written:
    // a question in the loop would keep its loads from being under way at the same time.
    std::int64_t of_row[height];
    KADAM_UNROLL
    for (int row = 0; row < height; ++row) {
      of_row[row] = begin + Kokkos::min(std::int64_t{row}, rows - 1) * matrix.columns;
    }
    const float* of_column[Width];
    KADAM_UNROLL
    for (int c = 0; c < Width; ++c) {
      of_column[c] = factor + Kokkos::min(std::int64_t{c}, columns - 1) * matrix.columns;
    }
    KADAM_DO_NOT_UNROLL
    for (std::int64_t j = member.rank(); j < terms; j += member.threads()) {
      double value[height];
      KADAM_UNROLL
      for (int row = 0; row < height; ++row) {
        value[row] = m(of_row[row] + j);
      }
      KADAM_UNROLL
      for (int c = 0; c < Width; ++c) {
        const auto q_of_column = static_cast<double>(of_column[c][j]);
        KADAM_UNROLL
        for (int row = 0; row < height; ++row) sum[row * Width + c] += value[row] * q_of_column;
      }
    }
    member.sum_all_of_threads(sum);
    member.once([&] {
      KADAM_UNROLL
      for (int row = 0; row < height; ++row) {
        KADAM_UNROLL
        for (int c = 0; c < Width; ++c) {
          if (row < rows && c < columns) out[c * matrix.rows + row] = sum[row * Width + c];
        }
      }
    });
  }
};

/// A CPU prefetches a row of a tile so many rows ahead: a row is short, and the next one lies far away.
inline constexpr std::int64_t rows_ahead = 2;

/// The rows and columns of M in a tile, which is numbered among the tiles of all matrices.
struct LowRankTile {
  std::int64_t row;
  std::int64_t rows;
  std::int64_t column;
  std::int64_t columns;

  KOKKOS_FORCEINLINE_FUNCTION LowRankTile(const LowRankMatrix& matrix, std::int64_t tile)
      : row((tile - matrix.tiles) / matrix.strips() * LowRankMatrix::rows_of_tile),
        rows(Kokkos::min(std::int64_t{LowRankMatrix::rows_of_tile}, matrix.rows - row)),
        column((tile - matrix.tiles) % matrix.strips() * LowRankMatrix::columns_of_tile),
        columns(Kokkos::min(std::int64_t{LowRankMatrix::columns_of_tile}, matrix.columns - column)) {}
};

/// Computes the partial sums of Mᵀ P for one tile. Lanes are columns of M.
template <Number T, class MemorySpace>
struct MultiplyByLeft {
  LowRankMatrices<MemorySpace> matrices;
  ValueOfM<T> m;
  Kokkos::View<const float*, MemorySpace> p;
  Kokkos::View<double*, MemorySpace> sums;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const LowRankMatrix matrix = matrices.of_tile(&LowRankMatrix::tiles, index);
    const LowRankTile tile(matrix, index);
    const std::int64_t part = tile.row / LowRankMatrix::rows_of_tile;
    for (std::int64_t c = 0; c < matrix.rank; c += most_held_columns) {
      const std::int64_t columns = Kokkos::min(std::int64_t{most_held_columns}, matrix.rank - c);
      const float* const factor = &p(matrix.left + c * matrix.rows + tile.row);
      double* const out = &sums(matrix.right_sums + (part * matrix.rank + c) * matrix.columns + tile.column);
      with_width(columns, [&](const auto width) {
        multiply<decltype(width)::value>(member, matrix, tile, columns, factor, out);
      });
    }
  }

 private:
  template <int Width>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(const HostBlockMember& /*member*/, const LowRankMatrix& matrix,
                                            const LowRankTile& tile, std::int64_t columns,
                                            const float* factor, double* out) const {
    double sum[Width][LowRankMatrix::columns_of_tile] = {};
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      const std::int64_t first = matrix.begin + (tile.row + row) * matrix.columns + tile.column;
      if (row + rows_ahead < tile.rows) m.prefetch(first + rows_ahead * matrix.columns, tile.columns);
      double value[LowRankMatrix::columns_of_tile];
      KADAM_SIMD
      for (std::int64_t j = 0; j < tile.columns; ++j) value[j] = m(first + j);
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto of_row = static_cast<double>(factor[c * matrix.rows + row]);
        KADAM_SIMD
        for (std::int64_t j = 0; j < tile.columns; ++j) sum[c][j] += value[j] * of_row;
      }
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t j = 0; j < tile.columns; ++j) out[c * matrix.columns + j] = sum[c][j];
    }
  }

  template <int Width, class Team>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(const TeamBlockMember<Team>& member, const LowRankMatrix& matrix,
                                            const LowRankTile& tile, std::int64_t columns,
                                            const float* factor, double* out) const {
    KADAM_DO_NOT_UNROLL
    for (std::int64_t j = member.rank(); j < tile.columns; j += member.threads()) {
      double sum[Width] = {};
      const std::int64_t first = matrix.begin + tile.row * matrix.columns + tile.column + j;
      for (std::int64_t row = 0; row < tile.rows; ++row) {
        const double value = m(first + row * matrix.columns);
        KADAM_UNROLL
        for (int c = 0; c < Width; ++c) {
          sum[c] += c < columns ? value * static_cast<double>(factor[c * matrix.rows + row]) : 0.0;
        }
      }
      KADAM_UNROLL
      for (int c = 0; c < Width; ++c) {
        if (c < columns) out[c * matrix.columns + j] = sum[c];
      }
    }
  }
};

/// e <- M - P Sᵀ and mean <- P Rᵀ in a tile: lanes are columns.
template <Number T, class MemorySpace>
struct SubtractLowRank {
  LowRankMatrices<MemorySpace> matrices;
  ValueOfM<T> m;
  Kokkos::View<const float*, MemorySpace> p;
  Kokkos::View<const float*, MemorySpace> r;
  Kokkos::View<const float*, MemorySpace> s;
  Kokkos::View<float*, MemorySpace> error;
  Kokkos::View<float*, MemorySpace> mean;

  /// By one thread, row after row: in one loop up to eight columns of R and S, and the sums in registers; the
  /// sums of more columns wait for the next eight in cache.
  KOKKOS_FUNCTION void operator()(const HostBlockMember& /*member*/, const std::int64_t index) const {
    const LowRankMatrix matrix = matrices.of_tile(&LowRankMatrix::tiles, index);
    const LowRankTile tile(matrix, index);
    double taken[LowRankMatrix::columns_of_tile];
    double given[LowRankMatrix::columns_of_tile];
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      const std::int64_t first = matrix.begin + (tile.row + row) * matrix.columns + tile.column;
      if (row + rows_ahead < tile.rows) {
        const std::int64_t ahead = first + rows_ahead * matrix.columns;
        m.prefetch(ahead, tile.columns);
        prefetch(mean.data() + ahead, tile.columns);
      }
      std::int64_t c = 0;
      for (; c + most_held_columns < matrix.rank; c += most_held_columns) {
        add_columns<most_held_columns>(matrix, tile, row, c, taken, given,
                                       [&](const std::int64_t j, const double taken_j, const double given_j) {
                                         taken[j] = taken_j;
                                         given[j] = given_j;
                                       });
      }
      with_width(matrix.rank - c, [&](const auto width) {
        add_columns<decltype(width)::value>(
            matrix, tile, row, c, taken, given,
            [&](const std::int64_t j, const double taken_j, const double given_j) {
              error(first + j) = static_cast<float>(m(first + j) - taken_j);
              mean(first + j) = static_cast<float>(given_j);
            });
      });
    }
  }

  /// By a team: the first columns of R and S, up to eight, stay in registers.
  template <class Team>
  KOKKOS_FUNCTION void operator()(const TeamBlockMember<Team>& member, const std::int64_t index) const {
    const LowRankMatrix matrix = matrices.of_tile(&LowRankMatrix::tiles, index);
    const LowRankTile tile(matrix, index);
    with_width(matrix.rank, [&](const auto width) {
      KADAM_DO_NOT_UNROLL
      for (std::int64_t j = member.rank(); j < tile.columns; j += member.threads()) {
        subtract<decltype(width)::value>(matrix, tile, j);
      }
    });
  }

 private:
  /// finish(j, taken, given) for every j of a row: the sums over the columns up to c + Width of R and S, if
  /// `taken` and `given` hold those of the columns before c.
  template <int Width, class Finish>
  KOKKOS_FORCEINLINE_FUNCTION void add_columns(const LowRankMatrix& matrix, const LowRankTile& tile,
                                               std::int64_t row, std::int64_t c, const double* taken,
                                               const double* given, const Finish& finish) const {
    double of_row[Width];
    const float* of_s[Width];
    const float* of_r[Width];
    for (int k = 0; k < Width; ++k) {
      const bool exists = c + k < matrix.rank;
      const std::int64_t column = exists ? c + k : c;
      of_row[k] = exists ? static_cast<double>(p(matrix.left + column * matrix.rows + tile.row + row)) : 0.0;
      of_s[k] = &s(matrix.right + column * matrix.columns + tile.column);
      of_r[k] = &r(matrix.right + column * matrix.columns + tile.column);
    }
    const auto visit = [&](const std::int64_t j, double taken_j, double given_j) {
      KADAM_UNROLL
      for (int k = 0; k < Width; ++k) {
        taken_j += of_row[k] * static_cast<double>(of_s[k][j]);
        given_j += of_row[k] * static_cast<double>(of_r[k][j]);
      }
      finish(j, taken_j, given_j);
    };
    if (c == 0) {
      KADAM_SIMD
      for (std::int64_t j = 0; j < tile.columns; ++j) visit(j, 0.0, 0.0);
    } else {
      KADAM_SIMD
      for (std::int64_t j = 0; j < tile.columns; ++j) visit(j, taken[j], given[j]);
    }
  }

  template <int Width>
  KOKKOS_FORCEINLINE_FUNCTION void subtract(const LowRankMatrix& matrix, const LowRankTile& tile,
                                            std::int64_t j) const {
    const float* const left = &p(matrix.left + tile.row);
    const std::int64_t right = matrix.right + tile.column + j;
    float of_r[Width];
    float of_s[Width];
    KADAM_UNROLL
    for (int c = 0; c < Width; ++c) {
      of_r[c] = c < matrix.rank ? r(right + c * matrix.columns) : 0.0F;
      of_s[c] = c < matrix.rank ? s(right + c * matrix.columns) : 0.0F;
    }
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      const std::int64_t i = matrix.begin + (tile.row + row) * matrix.columns + tile.column + j;
      double taken = 0.0;
      double given = 0.0;
      KADAM_UNROLL
      for (int c = 0; c < Width; ++c) {
        const double of_row = c < matrix.rank ? static_cast<double>(left[c * matrix.rows + row]) : 0.0;
        taken += of_row * static_cast<double>(of_s[c]);
        given += of_row * static_cast<double>(of_r[c]);
      }
      for (std::int64_t c = Width; c < matrix.rank; ++c) {
        const auto of_row = static_cast<double>(left[c * matrix.rows + row]);
        taken += of_row * static_cast<double>(s(right + c * matrix.columns));
        given += of_row * static_cast<double>(r(right + c * matrix.columns));
      }
      error(i) = static_cast<float>(m(i) - taken);
      mean(i) = static_cast<float>(given);
    }
  }
};

/// Modified Gram-Schmidt on the columns of one matrix, in double.
template <class MemorySpace>
struct Orthonormalise {
  LowRankMatrices<MemorySpace> matrices;
  Kokkos::View<float*, MemorySpace> p;
  Kokkos::View<double*, MemorySpace> work;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const LowRankMatrix matrix = matrices.all(index);
    const std::int64_t rows = matrix.rows;
    for (std::int64_t c = 0; c < matrix.rank; ++c) {
      float* const in = &p(matrix.left + c * rows);
      double* const column = &work(matrix.left + c * rows);
      member.for_each(rows, [&](const std::int64_t i) { column[i] = static_cast<double>(in[i]); });
      const double length = norm(member, column, rows);
      for (int pass = 0; pass < 2; ++pass) {
        for (std::int64_t k = 0; k < c; ++k) {
          const double* const other = &work(matrix.left + k * rows);
          const double along = member.sum(rows, [&](const std::int64_t i) { return other[i] * column[i]; });
          member.for_each(rows, [&](const std::int64_t i) { column[i] -= along * other[i]; });
        }
      }
      const double kept = norm(member, column, rows);
      const bool stays = kept > 0.0 && kept >= least_kept * length;
      member.for_each(rows, [&](const std::int64_t i) {
        column[i] = stays ? column[i] / kept : 0.0;
        in[i] = static_cast<float>(column[i]);
      });
    }
  }

 private:
  static constexpr double least_kept = 1e-6;

  template <class Member>
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION double norm(const Member& member, const double* column,
                                                               std::int64_t rows) {
    return Kokkos::sqrt(member.sum(rows, [&](const std::int64_t i) { return column[i] * column[i]; }));
  }
};

/// Copies the columns of one matrix's R, or of its Q itself, to Q; takes a column that is zero from the seed
/// matrix. first: &LowRankMatrix::right or &LowRankMatrix::q, where the columns begin in `from`.
template <class MemorySpace>
struct TakeColumns {
  LowRankMatrices<MemorySpace> matrices;
  std::uint64_t seed;
  std::int64_t LowRankMatrix::*first;
  Kokkos::View<const float*, MemorySpace> from;
  Kokkos::View<float*, MemorySpace> q;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const LowRankMatrix matrix = matrices.all(index);
    for (std::int64_t c = 0; c < matrix.rank; ++c) {
      const float* const in = &from(matrix.*first + c * matrix.columns);
      float* const out = &q(matrix.q + c * matrix.columns);
      const float largest =
          member.max(matrix.columns, [&](const std::int64_t j) { return Kokkos::fabs(in[j]); });
      member.for_each(matrix.columns, [&](const std::int64_t j) {
        out[j] = largest != 0.0F ? in[j] : seed_number(seed, matrix.tensor, j * matrix.rank + c);
      });
    }
  }
};

/// Calls function(ValueOfM) with the format of the gradient.
template <class MemorySpace, class Function>
void with_m(const LowRankInput<MemorySpace>& input, const Function& function) {
  input.gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& gradient) {
    function(ValueOfM<T>{gradient.data(), input.error.data(), static_cast<double>(input.scale)});
  });
}

}  // namespace detail

/// sums <- partial sums of M Q of all matrices; encode_factors() adds them up. Shape: q holds Q of each
/// matrix at LowRankMatrix::q; sums [extents.left_sums].
/// Memory: reads G and e, 8 B per element (6 B for a gradient of 16 bits), once per eight columns of Q.
template <class Exec, class MemorySpace>
void multiply_by_right(const Exec& exec, const LowRankMatrices<MemorySpace>& matrices,
                       const LowRankInput<MemorySpace>& input,
                       const Kokkos::View<const float*, MemorySpace>& q,
                       const Kokkos::View<double*, MemorySpace>& sums) {
  detail::with_m(input, [&]<class T>(const detail::ValueOfM<T>& m) {
    detail::for_each_block("kadam::multiply_by_right", exec, 0, matrices.extents.row_tiles,
                           detail::MultiplyByRight<T, MemorySpace>{matrices, m, q, sums});
  });
}

/// sums <- partial sums of Mᵀ P of all matrices; encode_factors() adds them up. Shape: p [extents.left], sums
/// [extents.right_sums]. Memory: as multiply_by_right(), per eight columns of P.
template <class Exec, class MemorySpace>
void multiply_by_left(const Exec& exec, const LowRankMatrices<MemorySpace>& matrices,
                      const LowRankInput<MemorySpace>& input,
                      const Kokkos::View<const float*, MemorySpace>& p,
                      const Kokkos::View<double*, MemorySpace>& sums) {
  detail::with_m(input, [&]<class T>(const detail::ValueOfM<T>& m) {
    detail::for_each_block("kadam::multiply_by_left", exec, 0, matrices.extents.tiles,
                           detail::MultiplyByLeft<T, MemorySpace>{matrices, m, p, sums});
  });
}

/// The factors that subtract_low_rank() takes. Shape: p [extents.left], r and s [extents.right].
template <class MemorySpace>
struct LowRankFactors {
  Kokkos::View<const float*, MemorySpace> p;
  Kokkos::View<const float*, MemorySpace> r;  ///< R of the mean P Rᵀ
  Kokkos::View<const float*, MemorySpace> s;  ///< S: this rank subtracts P Sᵀ from M
};

/// input.error <- M - P Sᵀ;  mean <- P Rᵀ, in the elements of all matrices.
/// Memory: reads G and e, writes e and mean: 16 B per element, 14 B for a gradient of 16 bits.
template <class Exec, class MemorySpace>
void subtract_low_rank(const Exec& exec, const LowRankMatrices<MemorySpace>& matrices,
                       const LowRankInput<MemorySpace>& input, const LowRankFactors<MemorySpace>& factors,
                       const Kokkos::View<float*, MemorySpace>& mean) {
  detail::with_m(input, [&]<class T>(const detail::ValueOfM<T>& m) {
    detail::for_each_block("kadam::subtract_low_rank", exec, 0, matrices.extents.tiles,
                           detail::SubtractLowRank<T, MemorySpace>{matrices, m, factors.p, factors.r,
                                                                   factors.s, input.error, mean});
  });
}

/// Makes the columns of each P orthonormal, in their order (modified Gram-Schmidt, two passes, in double). A
/// column that keeps less than 1e-6 of its length becomes 0. work: workspace. Shape: p and work
/// [extents.left].
template <class Exec, class MemorySpace>
void orthonormalise(const Exec& exec, const LowRankMatrices<MemorySpace>& matrices,
                    const Kokkos::View<float*, MemorySpace>& p,
                    const Kokkos::View<double*, MemorySpace>& work) {
  detail::for_each_block("kadam::orthonormalise", exec, 0, matrices.count(),
                         detail::Orthonormalise<MemorySpace>{matrices, p, work});
}

/// Q <- R for all matrices; where a column of R is zero, Q takes that column of the seed matrix. Shape: r
/// [extents.right], q holds Q of each matrix at LowRankMatrix::q.
template <class Exec, class MemorySpace>
void take_columns(const Exec& exec, const LowRankMatrices<MemorySpace>& matrices, std::uint64_t seed,
                  const Kokkos::View<const float*, MemorySpace>& r,
                  const Kokkos::View<float*, MemorySpace>& q) {
  detail::for_each_block("kadam::take_columns", exec, 0, matrices.count(),
                         detail::TakeColumns<MemorySpace>{matrices, seed, &LowRankMatrix::right, r, q});
}

/// Replaces each zero column of Q by that column of the seed matrix, for all matrices.
template <class Exec, class MemorySpace>
void seed_zero_columns(const Exec& exec, const LowRankMatrices<MemorySpace>& matrices, std::uint64_t seed,
                       const Kokkos::View<float*, MemorySpace>& q) {
  detail::for_each_block("kadam::seed_zero_columns", exec, 0, matrices.count(),
                         detail::TakeColumns<MemorySpace>{matrices, seed, &LowRankMatrix::q, q, q});
}

}  // namespace kadam
