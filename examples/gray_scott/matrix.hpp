// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>

#include <cstddef>
#include <cstdint>

namespace gray_scott {

/// Rows of float32, one after the other.
using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, kadam::MemorySpace>;
using ConstMatrix = Kokkos::View<const float**, Kokkos::LayoutRight, kadam::MemorySpace>;
/// The transpose of a Matrix in the same memory.
using Transposed = Kokkos::View<const float**, Kokkos::LayoutLeft, kadam::MemorySpace>;

[[nodiscard]] inline Transposed transposed(const ConstMatrix& matrix) {
  return Transposed(matrix.data(), matrix.extent(1), matrix.extent(0));
}

/// The first rows of a matrix, in the same memory.
[[nodiscard]] inline Matrix first_rows(const Matrix& matrix, std::int64_t rows) {
  return Matrix(matrix.data(), rows, matrix.extent(1));
}

/// One team of one thread for each row; on a GPU its vector lanes share the columns.
using RowPolicy = Kokkos::TeamPolicy<kadam::ExecutionSpace>;
using RowMember = RowPolicy::member_type;

[[nodiscard]] inline RowPolicy for_rows_of(const kadam::ExecutionSpace& exec, const Matrix& matrix) {
  return RowPolicy(exec, static_cast<int>(matrix.extent(0)), 1, RowPolicy::vector_length_max());
}

/// out(r, c) = Σ_t left(r, t) right(t, c), terms added in order, for the columns that `out` has; `right` may
/// have more. Enqueued on exec.
template <class Left, class Right>
void multiply(const kadam::ExecutionSpace& exec, const char* label, const Left& left, const Right& right,
              const Matrix& out) {
  const auto terms = static_cast<std::int64_t>(left.extent(1));
  const auto columns = static_cast<std::int64_t>(out.extent(1));
  Kokkos::parallel_for(
      label, for_rows_of(exec, out), KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t r = member.league_rank();
        const auto all = Kokkos::ThreadVectorRange(member, columns);
        Kokkos::parallel_for(all, [&](std::int64_t c) { out(r, c) = 0.0F; });
        for (std::int64_t t = 0; t < terms; ++t) {
          const float factor = left(r, t);
          Kokkos::parallel_for(all, [&](std::int64_t c) { out(r, c) += factor * right(t, c); });
        }
      });
}

}  // namespace gray_scott
