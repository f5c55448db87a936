// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/layers/row.hpp>
#include <workloads/parameters.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

/// Sums over all rows of a matrix, one for each column.
namespace kadam::workloads {

struct RowSumShape {
  std::int64_t rows;
  std::int64_t columns;
};

namespace detail {

/// Columns that one row kernel sums: the lanes of a GPU read neighbouring elements.
inline constexpr std::int64_t sum_columns = 32;

/// GPU: number of parts into which rows are cut; each part has its sums. It depends on the number of rows
/// only, so the order of additions is the same in every run.
[[nodiscard]] inline std::int64_t row_parts(std::int64_t rows) {
  constexpr std::int64_t least_rows = 64;
  constexpr std::int64_t most_parts = 128;
  return std::clamp<std::int64_t>((rows + least_rows - 1) / least_rows, 1, most_parts);
}

/// Row kernel: sums[part * columns + x] = Σ term(row, x) over the rows of a part, in order.
template <class Term>
struct SumOfPart {
  RowSumShape shape;
  std::int64_t rows_per_part;
  Term term;
  float* sums;

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t blocks() const {
    return (shape.columns + sum_columns - 1) / sum_columns;
  }
  KOKKOS_FUNCTION void operator()(const RowMember& member, std::int64_t index) const {
    const std::int64_t part = index / blocks();
    const std::int64_t first = index % blocks() * sum_columns;
    const std::int64_t begin = part * rows_per_part;
    const std::int64_t left = shape.rows - begin;
    row_combine(
        member, shape.columns - first < sum_columns ? shape.columns - first : sum_columns,
        left < rows_per_part ? left : rows_per_part,
        [&](std::int64_t row, std::int64_t x) { return term(begin + row, first + x); },
        [&](std::int64_t x, float sum) { sums[part * shape.columns + first + x] = sum; });
  }
};

template <class Term>
void sum_parts(const std::string& label, const ExecutionSpace& exec, const RowSumShape& shape,
               std::int64_t parts, const Term& term, float* sums) {
  const SumOfPart<Term> sum{shape, (shape.rows + parts - 1) / parts, term, sums};
  for_each_row(label, exec, parts * sum.blocks(), sum);
}

struct PartialSum {
  const float* sums;
  std::int64_t columns;
  KOKKOS_FUNCTION float operator()(std::int64_t part, std::int64_t x) const {
    return sums[part * columns + x];
  }
};

}  // namespace detail

/// sums[x] = Σ_rows term(row, x): rows added in order on a CPU; on a GPU in parts, then the parts in order.
template <class Term>
void sum_over_rows(const std::string& label, const ExecutionSpace& exec, const RowSumShape& shape,
                   Scratch& scratch, const Term& term, float* sums) {
  const std::int64_t parts = one_thread_per_row ? 1 : detail::row_parts(shape.rows);
  if (parts == 1) {
    detail::sum_parts(label, exec, shape, 1, term, sums);
    return;
  }
  float* const partial = scratch.floats(exec, parts * shape.columns);
  detail::sum_parts(label, exec, shape, parts, term, partial);
  detail::sum_parts(label + "::parts", exec, {parts, shape.columns}, 1,
                    detail::PartialSum{partial, shape.columns}, sums);
}

}  // namespace kadam::workloads
