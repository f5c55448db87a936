// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/backend.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/on_device.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kadam {

/// A tensor with a variance: rows x columns elements of a vector from `begin` on, row-major. It is a matrix
/// if it has at least two rows and two columns.
struct VarianceShape {
  std::int64_t begin = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 1;

  [[nodiscard]] bool is_matrix() const { return rows >= 2 && columns >= 2; }
  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

/// Factored variance of some tensors. A matrix has the factors R, one number per row, and C, one number per
/// column, in place of v; every other tensor has v itself.
///
///   v_jk = R_j C_k / mean(R);   0 where mean(R) = 0
///
/// The vector `values` holds all R, then all C, then the v of other tensors, so that a mean over ranks is one
/// mean of this vector. Tables say which value belongs where, so that one launch does for all tensors.
/// Memory: 4 B per value. Sums: 8 B for every row and column of a panel, of 32768 elements on a CPU, of 4096
/// on a GPU; tables: 32 B per Tile and per ValueTile, 24 B per panel, 76 B per matrix.
template <class MemorySpace>
struct VarianceFactors {
  /// Elements of a full Tile, and values of a full ValueTile. On a GPU the latter has variance_team_values if
  /// its values are rows or columns.
  static constexpr std::int64_t tile_elements = 2048;
  static constexpr std::int64_t tile_values = 1024;

  struct Matrix {
    std::int64_t begin;
    std::int64_t rows;
    std::int64_t columns;
    std::int64_t first_row;     ///< place in `values` of R of its first row
    std::int64_t first_column;  ///< place in `values` of C of its first column
    std::int64_t row_sums;      ///< place in `sums` of the sums of its rows, one panel across after the other
    std::int64_t column_sums;   ///< place in `sums` of those of its columns, one panel down after the other
    std::int64_t panel_rows;
    std::int64_t panel_columns;

    [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t panels_across() const {
      return (columns + panel_columns - 1) / panel_columns;
    }
    [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t panels_down() const {
      return (rows + panel_rows - 1) / panel_rows;
    }
  };
  /// A part of a matrix whose squares are summed together.
  struct Panel {
    std::int64_t matrix;  ///< number of the matrix
    std::int64_t row;     ///< first row
    std::int64_t column;  ///< first column
  };
  /// Consecutive elements of one tensor. matrix: number of the matrix, or -1 for any other tensor: then the v
  /// of the tile's elements begin at values(value).
  struct Tile {
    std::int64_t begin;
    std::int64_t elements;
    std::int64_t matrix;
    std::int64_t value;
  };
  enum class Kind : std::int32_t { row, column, element };
  /// Consecutive values of one kind and one tensor, from values(value) on. begin: row or column of the first
  /// one in its matrix, or its element of the vector.
  struct ValueTile {
    std::int64_t value;
    std::int64_t begin;
    std::int64_t matrix;
    std::int32_t count;
    Kind kind;
  };

  Kokkos::View<float*, MemorySpace> values;
  Kokkos::View<float*, MemorySpace> means;  ///< mean(R) of each matrix
  Kokkos::View<double*, MemorySpace> sums;
  Kokkos::View<Matrix*, MemorySpace> matrices;
  Kokkos::View<Panel*, MemorySpace> panels;
  Kokkos::View<Tile*, MemorySpace> tiles;
  Kokkos::View<ValueTile*, MemorySpace> value_tiles;
  std::int64_t rows = 0;     ///< of all matrices: values [0, rows) are R
  std::int64_t columns = 0;  ///< of all matrices: values [rows, rows + columns) are C

  /// Returns R_row / mean(R), the factor on C_k in v. R_j C_k without the division could be too small for a
  /// float32.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float row_ratio(std::int64_t matrix, std::int64_t row) const {
    const float mean = means(matrix);
    return mean > 0.0F ? values(matrices(matrix).first_row + row) / mean : 0.0F;
  }

  /// Allocates values of 0, sums, and the tables that the kernels of Exec need. Waits for its copies.
  template <class Exec>
  [[nodiscard]] static VarianceFactors make(const std::vector<VarianceShape>& shapes) {
    const Tables<Entries> tables(shapes, !detail::one_thread_per_block<Exec>);
    VarianceFactors factors;
    factors.rows = tables.rows;
    factors.columns = tables.columns;
    factors.values =
        decltype(factors.values)("kadam::VarianceFactors::values", static_cast<std::size_t>(tables.values));
    factors.means = decltype(factors.means)("kadam::VarianceFactors::means", tables.matrices.size());
    factors.sums =
        decltype(factors.sums)("kadam::VarianceFactors::sums", static_cast<std::size_t>(tables.sums));
    factors.matrices = on_device<MemorySpace>("kadam::VarianceFactors::matrices", tables.matrices);
    factors.panels = on_device<MemorySpace>("kadam::VarianceFactors::panels", tables.panels);
    factors.tiles = on_device<MemorySpace>("kadam::VarianceFactors::tiles", tables.tiles);
    factors.value_tiles = on_device<MemorySpace>("kadam::VarianceFactors::value_tiles", tables.value_tiles);
    return factors;
  }
  /// Number of values: rows and columns of the matrices, and elements of the other tensors.
  [[nodiscard]] static std::int64_t value_count(const std::vector<VarianceShape>& shapes) {
    std::int64_t count = 0;
    for (const VarianceShape& shape : shapes)
      count += shape.is_matrix() ? shape.rows + shape.columns : shape.elements();
    return count;
  }
  /// Bytes that all members but `values` hold. by_teams: true on a GPU.
  [[nodiscard]] static std::size_t workspace_bytes(const std::vector<VarianceShape>& shapes, bool by_teams) {
    const Tables<Count> tables(shapes, by_teams);
    return tables.matrices.size() * (sizeof(float) + sizeof(Matrix)) +
           static_cast<std::size_t>(tables.sums) * sizeof(double) + tables.panels.size() * sizeof(Panel) +
           tables.tiles.size() * sizeof(Tile) + tables.value_tiles.size() * sizeof(ValueTile);
  }

 private:
  template <class T>
  using Entries = std::vector<T>;
  /// Counts entries and stores none, for workspace_bytes(): lists of a large model take megabytes.
  template <class T>
  class Count {
   public:
    void push_back(const T& /*entry*/) { ++size_; }
    [[nodiscard]] std::size_t size() const { return size_; }

   private:
    std::size_t size_ = 0;
  };

  template <template <class> class List>
  struct Tables {
    List<Matrix> matrices;
    List<Panel> panels;
    List<Tile> tiles;
    List<ValueTile> value_tiles;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t values = 0;
    std::int64_t sums = 0;

    Tables(const std::vector<VarianceShape>& shapes, bool by_teams) {
      for (const VarianceShape& shape : shapes) {
        if (!shape.is_matrix()) continue;
        rows += shape.rows;
        columns += shape.columns;
      }
      std::int64_t next_row = 0;
      std::int64_t next_column = rows;
      values = rows + columns;
      for (const VarianceShape& shape : shapes) {
        if (shape.is_matrix()) {
          add_matrix(shape, by_teams, next_row, next_column);
          next_row += shape.rows;
          next_column += shape.columns;
        } else {
          add_tiles(shape, -1, values);
          add_values(Kind::element, -1, values, shape.elements(), tile_values, shape.begin);
          values += shape.elements();
        }
      }
    }

    void add_matrix(const VarianceShape& shape, bool by_teams, std::int64_t first_row,
                    std::int64_t first_column) {
      const auto number = static_cast<std::int64_t>(matrices.size());
      const auto [panel_rows, panel_columns] = panel_of(shape, by_teams);
      Matrix matrix{shape.begin, shape.rows, shape.columns, first_row,    first_column,
                    sums,        0,          panel_rows,    panel_columns};
      sums += matrix.panels_across() * matrix.rows;
      matrix.column_sums = sums;
      sums += matrix.panels_down() * matrix.columns;
      matrices.push_back(matrix);
      for (std::int64_t row = 0; row < shape.rows; row += panel_rows) {
        for (std::int64_t column = 0; column < shape.columns; column += panel_columns)
          panels.push_back({number, row, column});
      }
      add_tiles(shape, number, 0);
      const std::int64_t of_tile = by_teams ? detail::variance_team_values : tile_values;
      add_values(Kind::row, number, first_row, shape.rows, of_tile);
      add_values(Kind::column, number, first_column, shape.columns, of_tile);
    }
    void add_tiles(const VarianceShape& shape, std::int64_t matrix, std::int64_t value) {
      for (std::int64_t i = 0; i < shape.elements(); i += tile_elements) {
        tiles.push_back({shape.begin + i, std::min(tile_elements, shape.elements() - i), matrix, value + i});
      }
    }
    void add_values(Kind kind, std::int64_t matrix, std::int64_t value, std::int64_t count,
                    std::int64_t of_tile, std::int64_t begin = 0) {
      for (std::int64_t i = 0; i < count; i += of_tile) {
        value_tiles.push_back(
            {value + i, begin + i, matrix, static_cast<std::int32_t>(std::min(of_tile, count - i)), kind});
      }
    }
    /// Returns the rows and columns of a panel: long rows for the thread of a CPU, about a square for a team.
    static std::pair<std::int64_t, std::int64_t> panel_of(const VarianceShape& shape, bool by_teams) {
      if (!by_teams) {
        const std::int64_t across = std::min(shape.columns, detail::variance_panel_columns);
        return {std::min(shape.rows, detail::variance_panel_elements / across), across};
      }
      constexpr std::int64_t side = detail::variance_team_side;
      constexpr std::int64_t elements = side * side;
      constexpr std::int64_t longest = detail::variance_team_longest;
      const std::int64_t across =
          std::min({shape.columns, longest, std::max(side, elements / std::min(shape.rows, side))});
      return {std::min({shape.rows, longest, elements / across}), across};
    }
  };
};

}  // namespace kadam
