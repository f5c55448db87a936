// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/adam_direction.hpp>
#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/detail/backend.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/segments.hpp>
#include <kadam/kernels/variance_factors.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

/// Kernels of factored variances: from gradients to factors, and from factors to updates.
namespace kadam {
namespace detail {

/// Sums the squares of the elements of one panel, in double: one sum for each of its rows, one for each of
/// its columns.
template <Number T, class MemorySpace>
struct SumSquaresOfPanel {
  VarianceFactors<MemorySpace> factors;
  float gradient_scale;
  Kokkos::View<const T*, MemorySpace> gradient;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto panel = factors.panels(index);
    const auto matrix = factors.matrices(panel.matrix);
    const std::int64_t rows = Kokkos::min(matrix.panel_rows, matrix.rows - panel.row);
    const std::int64_t columns = Kokkos::min(matrix.panel_columns, matrix.columns - panel.column);
    const std::int64_t first = matrix.begin + panel.row * matrix.columns + panel.column;
    double* const row_sums =
        factors.sums.data() + matrix.row_sums + panel.column / matrix.panel_columns * matrix.rows + panel.row;
    double* const column_sums = factors.sums.data() + matrix.column_sums +
                                panel.row / matrix.panel_rows * matrix.columns + panel.column;
    if constexpr (Member::is_one_thread) {
      double of_column[variance_panel_columns];
      for (std::int64_t k = 0; k < columns; ++k) of_column[k] = 0.0;
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t begin = first + row * matrix.columns;
        row_sums[row] = member.sum(columns, [&](const std::int64_t k) { return square(scaled(begin + k)); });
        member.for_each(columns, [&](const std::int64_t k) { of_column[k] += square(scaled(begin + k)); });
      }
      member.for_each(columns, [&](const std::int64_t k) { column_sums[k] = of_column[k]; });
    } else {
      // An odd stride: otherwise threads that take a row each would all read from the same bank.
      const std::int64_t stride = columns | 1;
      auto* const tile = member.template scratch<float>(scratch_elements);
      const auto fill = [&](const auto width) {
        // A thread first loads as much as its registers hold, then stores it: this keeps memory busy.
        // Written by hand, because for_each_loaded() takes 126 registers here, and this takes 89.
        for (std::int64_t round = 0; round < rows * columns; round += member.held()) {
          float own[held_elements];
          member.for_each_held(round, rows * columns, [&](const int j, const std::int64_t k) {
            const std::int64_t row = static_cast<std::uint32_t>(k) / static_cast<std::uint32_t>(width);
            own[j] = scaled(first + row * matrix.columns + (k - row * width));
          });
          member.for_each_held(round, rows * columns, [&](const int j, const std::int64_t k) {
            const std::int64_t row = static_cast<std::uint32_t>(k) / static_cast<std::uint32_t>(width);
            tile[row * stride + (k - row * width)] = own[j];
          });
        }
      };
      if (columns == variance_team_side) {
        fill(std::integral_constant<std::int64_t, variance_team_side>{});  // a shift, not a division
      } else {
        fill(columns);
      }
      member.barrier();
      member.for_each(rows + columns, [&](const std::int64_t k) {
        const bool is_row = k < rows;
        const float* const line = is_row ? tile + k * stride : tile + (k - rows);
        const std::int64_t step = is_row ? 1 : stride;
        const std::int64_t count = is_row ? columns : rows;
        double sum = 0.0;
        for (std::int64_t i = 0; i < count; ++i) sum += square(line[i * step]);
        (is_row ? row_sums[k] : column_sums[k - rows]) = sum;
      });
    }
  }

  [[nodiscard]] static int scratch_bytes(int /*threads*/) {
    return static_cast<int>(scratch_elements * sizeof(float)) + 8;
  }

 private:
  static constexpr std::int64_t scratch_elements =
      variance_team_side * variance_team_side + variance_team_longest;
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float scaled(std::int64_t i) const {
    return gradient_scale * to_float(gradient(i));
  }
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION double square(float value) {
    return static_cast<double>(value) * static_cast<double>(value);
  }
};

/// Updates the values of one ValueTile: rows and columns from the sums of panels, a v from its element's
/// gradient.
template <Number T, class MemorySpace>
struct UpdateVarianceValues {
  using Factors = VarianceFactors<MemorySpace>;
  Factors factors;
  Ema second;
  float gradient_scale;
  Kokkos::View<const T*, MemorySpace> gradient;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto tile = factors.value_tiles(index);
    float* const values = factors.values.data() + tile.value;
    if (tile.kind == Factors::Kind::element) {
      member.for_each(tile.count, [&](const std::int64_t k) {
        const float g = gradient_scale * to_float(gradient(tile.begin + k));
        values[k] = second(values[k], g * g);
      });
      return;
    }
    const auto matrix = factors.matrices(tile.matrix);
    const bool is_row = tile.kind == Factors::Kind::row;
    const std::int64_t stride = is_row ? matrix.rows : matrix.columns;
    const std::int64_t across = is_row ? matrix.columns : matrix.rows;
    const std::int64_t panels = is_row ? matrix.panels_across() : matrix.panels_down();
    const double* const sums =
        factors.sums.data() + (is_row ? matrix.row_sums : matrix.column_sums) + tile.begin;
    const auto update = [&](const std::int64_t k, const double sum) {
      values[k] = second(values[k], static_cast<float>(sum / static_cast<double>(across)));
    };
    if constexpr (Member::is_one_thread) {
      member.for_each(tile.count, [&](const std::int64_t k) {
        double sum = 0.0;
        for (std::int64_t panel = 0; panel < panels; ++panel) sum += sums[panel * stride + k];
        update(k, sum);
      });
    } else {
      // Several threads share the panels of one value: a long matrix has many panels and few columns.
      auto* const partial = member.template scratch<double>(scratch_sums);
      member.for_each(scratch_sums, [&](const std::int64_t t) {
        const std::int64_t k = t % of_tile;
        partial[t] = k < tile.count ? sum_of_share(sums + k, stride, t / of_tile, panels) : 0.0;
      });
      member.for_each(tile.count, [&](const std::int64_t k) {
        double sum = 0.0;
        for (std::int64_t share = 0; share < shares; ++share) sum += partial[share * of_tile + k];
        update(k, sum);
      });
    }
  }

  [[nodiscard]] static int scratch_bytes(int /*threads*/) {
    return static_cast<int>(scratch_sums * sizeof(double)) + 8;
  }

 private:
  static constexpr std::int64_t of_tile = variance_team_values;
  static constexpr std::int64_t shares = variance_team_shares;
  static constexpr std::int64_t scratch_sums = of_tile * shares;

  /// Sum over every `shares`-th panel, from number `share` on. Loads several sums before it adds them.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION double sum_of_share(const double* sums,
                                                                       std::int64_t stride,
                                                                       std::int64_t share,
                                                                       std::int64_t panels) {
    constexpr std::int64_t at_a_time = 8;
    double sum = 0.0;
    std::int64_t panel = share;
    KADAM_DO_NOT_UNROLL
    for (; panel + (at_a_time - 1) * shares < panels; panel += at_a_time * shares) {
      double some[at_a_time];
      KADAM_UNROLL
      for (std::int64_t j = 0; j < at_a_time; ++j) some[j] = sums[(panel + j * shares) * stride];
      KADAM_UNROLL
      for (std::int64_t j = 0; j < at_a_time; ++j) sum += some[j];
    }
    KADAM_DO_NOT_UNROLL
    for (; panel < panels; panel += shares) sum += sums[panel * stride];
    return sum;
  }
};

template <class MemorySpace>
struct MeanOfRows {
  VarianceFactors<MemorySpace> factors;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto matrix = factors.matrices(index);
    const double sum = member.sum(
        matrix.rows, [&](const std::int64_t row) { return factors.values(matrix.first_row + row); });
    member.once([&] { factors.means(index) = static_cast<float>(sum / static_cast<double>(matrix.rows)); });
  }
};

/// Calls rule(v, element of each array) for the elements of one tile.
template <class Rules, class Arrays, class MemorySpace>
struct VarianceLoop {
  using Tile = typename VarianceFactors<MemorySpace>::Tile;

  VarianceFactors<MemorySpace> factors;
  Rules rules;
  Arrays arrays;
  bool are_aligned;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const Tile tile = factors.tiles(index);
    const auto rule = rules.rule_at(rules.segments.segment_of(tile.begin + rules.offset));
    const auto apply = [&](const float& v, auto&... element) { rule(v, element...); };
    if constexpr (Member::is_one_thread) {
      for_each_row(tile, [&](const std::int64_t first, const std::int64_t count, const float ratio,
                             const float* numbers) {
        member.for_each(count, [&](const std::int64_t k) {
          const float v = ratio * numbers[k];
          arrays.at(first + k, apply, v);
        });
      });
    } else {
      for_each_pack(
          member, tile.begin, tile.begin + tile.elements, are_aligned,
          [&](const std::int64_t i) {
            VariancePack v;
            find(tile, i, v.values);
            arrays.from(i, apply, v);
          },
          [&](const std::int64_t i) {
            float v[1];
            find(tile, i, v);
            arrays.at(i, apply, v[0]);
          });
    }
  }

 private:
  struct VariancePack {
    float values[pack_elements];
  };

  /// Calls visit(first element, count, factor, numbers) for the parts of a tile that lie in one row each: v
  /// of element first + k is factor numbers[k].
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_row(const Tile& tile, const Visit& visit) const {
    if (tile.matrix < 0) {
      visit(tile.begin, tile.elements, 1.0F, factors.values.data() + tile.value);
      return;
    }
    const auto matrix = factors.matrices(tile.matrix);
    const std::int64_t end = tile.begin + tile.elements;
    for (std::int64_t i = tile.begin; i < end;) {
      const std::int64_t row = (i - matrix.begin) / matrix.columns;
      const std::int64_t column = i - matrix.begin - row * matrix.columns;
      const std::int64_t count = Kokkos::min(matrix.columns - column, end - i);
      visit(i, count, factors.row_ratio(tile.matrix, row),
            factors.values.data() + matrix.first_column + column);
      i += count;
    }
  }

  /// v[k] <- v of element i + k for every k. All these elements are in the tile.
  template <std::size_t count>
  KOKKOS_FORCEINLINE_FUNCTION void find(const Tile& tile, std::int64_t i, float (&v)[count]) const {
    if (tile.matrix < 0) {
      KADAM_UNROLL
      for (std::size_t k = 0; k < count; ++k)
        v[k] = factors.values(tile.value + (i - tile.begin) + static_cast<std::int64_t>(k));
      return;
    }
    const auto matrix = factors.matrices(tile.matrix);
    std::int64_t row = quotient(i - matrix.begin, matrix.columns);
    std::int64_t column = i - matrix.begin - row * matrix.columns;
    float ratio = factors.row_ratio(tile.matrix, row);
    KADAM_UNROLL
    for (std::size_t k = 0; k < count; ++k) {
      v[k] = ratio * factors.values(matrix.first_column + column);
      if (k + 1 < count && ++column == matrix.columns) {
        column = 0;
        ratio = factors.row_ratio(tile.matrix, ++row);
      }
    }
  }
  /// Returns number / divisor, in 32 bits if the number fits: that is several times as fast on a GPU.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t quotient(std::int64_t number,
                                                                         std::int64_t divisor) {
    if (number >> 32 != 0) return number / divisor;
    return static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(divisor);
  }
};

}  // namespace detail

/// factors.means <- mean(R) of every matrix. To be called after R has changed. Memory: 4 B per row.
template <class Exec, class MemorySpace>
void find_row_means(const Exec& exec, const VarianceFactors<MemorySpace>& factors) {
  detail::for_each_block("kadam::find_row_means", exec, 0,
                         static_cast<std::int64_t>(factors.matrices.extent(0)),
                         detail::MeanOfRows<MemorySpace>{factors});
}

/// R <- ema(R, row means of g^2), C <- ema(C, column means of g^2), v of other tensors <- ema(v, g^2), where
/// g is gradient_scale times the gradient. Also updates factors.means.
///
/// Three kernels for all tensors: squares by panels, values, means. Adds in double, in an order that does not
/// depend on the number of threads, and rounds each mean once.
/// Shape: gradient is the vector in which the shapes given to make() lie.
/// Memory: reads g once, and 16 B for each row and column of a panel: about 4.5 B per element of a matrix
/// whose sides are long (2.5 B for a gradient of 16 bits); 12 B per element of other tensors.
template <class Exec, class MemorySpace>
void update_variance(const Exec& exec, const VarianceFactors<MemorySpace>& factors, const Ema& second,
                     float gradient_scale, const std::type_identity_t<Numbers<MemorySpace>>& gradient) {
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& g) {
    detail::for_each_block("kadam::sum_squares", exec, 0, static_cast<std::int64_t>(factors.panels.extent(0)),
                           detail::SumSquaresOfPanel<T, MemorySpace>{factors, gradient_scale, g});
    detail::for_each_block("kadam::update_variance", exec, 0,
                           static_cast<std::int64_t>(factors.value_tiles.extent(0)),
                           detail::UpdateVarianceValues<T, MemorySpace>{factors, second, gradient_scale, g});
  });
  find_row_means(exec, factors);
}

/// Calls rule(v, element of each array) for every element of the tensors, with the rule of its segment, in
/// one launch. v is computed from its factors where it is used. arrays: made by reads(), updates() or
/// writes(). Shape: every tensor lies in one segment.
template <class Exec, class MemorySpace, class RuleOf, class... Arrays>
void for_each_with_variance(const std::string& label, const Exec& exec,
                            const VarianceFactors<MemorySpace>& factors,
                            const BySegment<MemorySpace, RuleOf>& rules, const Arrays&... arrays) {
  const auto list = detail::element_arrays(arrays...);
  using Loop =
      detail::VarianceLoop<BySegment<MemorySpace, RuleOf>, std::remove_const_t<decltype(list)>, MemorySpace>;
  detail::for_each_block(label, exec, 0, static_cast<std::int64_t>(factors.tiles.extent(0)),
                         Loop{factors, rules, list, list.are_aligned()});
}

/// m <- ema(m, g);  target <- keep target + step m / (sqrt(v inverse_c2) + eps), with v from the factors.
/// Memory: reads m, g, target, writes m, target: 20 B per element; 18 B for a gradient of 16 bits.
template <class Exec, class MemorySpace>
void accumulate_momentum_direction(const Exec& exec,
                                   const BySegment<MemorySpace, MomentumAndDirectionOf>& rules,
                                   const VarianceFactors<MemorySpace>& factors,
                                   const Kokkos::View<float*, MemorySpace>& m,
                                   const std::type_identity_t<Numbers<MemorySpace>>& gradient,
                                   const Kokkos::View<float*, MemorySpace>& target) {
  gradient.visit([&](const auto& g) {
    for_each_with_variance("kadam::accumulate_momentum_direction", exec, factors, rules, updates(m), reads(g),
                           updates(target));
  });
}

/// m <- ema(m, g), then Adam's update of x, with v from the factors. Memory: reads x, m, g, writes x, m: 20 B
/// per element; 18 B for a gradient of 16 bits.
template <class Exec, class MemorySpace>
void momentum_update(const Exec& exec, const BySegment<MemorySpace, MomentumStepOf>& rules,
                     const VarianceFactors<MemorySpace>& factors, const Kokkos::View<float*, MemorySpace>& x,
                     const Kokkos::View<float*, MemorySpace>& m,
                     const std::type_identity_t<Numbers<MemorySpace>>& gradient) {
  gradient.visit([&](const auto& g) {
    for_each_with_variance("kadam::momentum_update", exec, factors, rules, updates(x), updates(m), reads(g));
  });
}

}  // namespace kadam
