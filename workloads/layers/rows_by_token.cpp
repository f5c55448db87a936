// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/rows_by_token.hpp>

#include <algorithm>

namespace kadam::workloads {
namespace {

using Range = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;

constexpr std::int64_t least_tile_rows = 64;
constexpr std::int64_t most_tiles = 128;

/// counts[token * tiles + tile] += 1 for each row.
void count_tokens(const ExecutionSpace& exec, const std::int32_t* tokens, std::int64_t rows,
                  std::int64_t tile_rows, std::int64_t tiles, std::int32_t* counts) {
  Kokkos::parallel_for(
      "kadam::workloads::count_tokens", Range(exec, 0, rows), KOKKOS_LAMBDA(std::int64_t row) {
        Kokkos::atomic_inc(&counts[tokens[row] * tiles + row / tile_rows]);
      });
}

/// counts[k] = Σ_{i < k} counts[i].
void sum_before(const ExecutionSpace& exec, std::int64_t count, std::int32_t* counts) {
  Kokkos::parallel_scan(
      "kadam::workloads::sum_before", Range(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t k, std::int32_t & before, bool is_final) {
        const std::int32_t own = counts[k];
        if (is_final) {
          counts[k] = before;
        }
        before += own;
      });
}

/// Each row counts the rows before it in its tile that have the same token.
void place_rows(const ExecutionSpace& exec, const std::int32_t* tokens, std::int64_t rows,
                std::int64_t tile_rows, std::int64_t tiles, const std::int32_t* begins,
                std::int32_t* sorted) {
  Kokkos::parallel_for(
      "kadam::workloads::place_rows", Range(exec, 0, rows), KOKKOS_LAMBDA(std::int64_t row) {
        const std::int32_t token = tokens[row];
        const std::int64_t tile = row / tile_rows;
        std::int32_t place = begins[token * tiles + tile];
        for (std::int64_t before = tile * tile_rows; before < row; ++before) {
          place += tokens[before] == token ? 1 : 0;
        }
        sorted[place] = static_cast<std::int32_t>(row);
      });
}

}  // namespace

RowsByToken::RowsByToken(Arena& arena, std::int64_t rows, std::int64_t vocabulary)
    : rows_(rows),
      vocabulary_(vocabulary),
      tile_rows_(std::max(least_tile_rows, (rows + most_tiles - 1) / most_tiles)),
      tiles_((rows + tile_rows_ - 1) / tile_rows_),
      sorted_(arena.integers(rows)),
      begins_(arena.integers(vocabulary * tiles_ + 1)) {}

void RowsByToken::sort(const ExecutionSpace& exec, const std::int32_t* tokens) const {
  const std::int64_t begins = vocabulary_ * tiles_ + 1;
  Kokkos::deep_copy(exec, Vector<std::int32_t>(begins_, static_cast<std::size_t>(begins)), 0);
  count_tokens(exec, tokens, rows_, tile_rows_, tiles_, begins_);
  sum_before(exec, begins, begins_);
  place_rows(exec, tokens, rows_, tile_rows_, tiles_, begins_, sorted_);
}

}  // namespace kadam::workloads
