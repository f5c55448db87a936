// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/matrix.hpp>

#include <cstdint>

namespace kadam::workloads {

/// The rows of a batch, sorted by their tokens; rows with the same token stay in order. Sorted by counting,
/// with atomics on integers alone: the same in every run.
///
/// Memory: 4 B per row, and 4 B for each token of the vocabulary and each of at most 128 tiles of rows.
class RowsByToken {
 public:
  RowsByToken() = default;
  RowsByToken(Arena& arena, std::int64_t rows, std::int64_t vocabulary);

  /// Shape: tokens [rows], values in [0, vocabulary).
  void sort(const ExecutionSpace& exec, const std::int32_t* tokens) const;

  [[nodiscard]] std::int64_t count() const { return rows_; }
  /// The sorted rows.
  [[nodiscard]] KOKKOS_FUNCTION const std::int32_t* rows() const { return sorted_; }
  /// Where the rows with this token begin in rows(); those of the last token of the vocabulary end where one
  /// more would begin.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t begin_of(std::int64_t token) const {
    return begins_[token * tiles_];
  }

 private:
  std::int64_t rows_ = 0;
  std::int64_t vocabulary_ = 0;
  std::int64_t tile_rows_ = 1;
  std::int64_t tiles_ = 0;
  std::int32_t* sorted_ = nullptr;
  std::int32_t* begins_ = nullptr;  ///< [vocabulary][tiles] and one more
};

}  // namespace kadam::workloads
