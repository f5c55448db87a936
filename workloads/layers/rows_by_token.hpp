// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/matrix.hpp>

#include <cstdint>

namespace kadam::workloads {

/// Indices of the rows of a batch, sorted by token; rows with the same token stay in order. A counting sort
/// with atomics on integers only, so the result is the same in every run.
///
/// Memory: 4 B per row, and 4 B for each token of the vocabulary and each of at most 128 tiles of rows.
class RowsByToken {
 public:
  RowsByToken() = default;
  RowsByToken(Arena& arena, std::int64_t rows, std::int64_t vocabulary);

  /// Sorts. Shape: tokens [rows], values in [0, vocabulary). Enqueued on exec.
  void sort(const ExecutionSpace& exec, const std::int32_t* tokens) const;

  [[nodiscard]] std::int64_t count() const { return rows_; }
  /// The sorted row indices. Shape: [count()].
  [[nodiscard]] KOKKOS_FUNCTION const std::int32_t* rows() const { return sorted_; }
  /// Index in rows() of the first row with this token. Its rows end at begin_of(token + 1), also for the last
  /// token of the vocabulary.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t begin_of(std::int64_t token) const {
    return begins_[token * tiles_];
  }

 private:
  std::int64_t rows_ = 0;
  std::int64_t vocabulary_ = 0;
  std::int64_t tile_rows_ = 1;
  std::int64_t tiles_ = 0;
  std::int32_t* sorted_ = nullptr;
  std::int32_t* begins_ = nullptr;  ///< [vocabulary * tiles + 1]
};

}  // namespace kadam::workloads
