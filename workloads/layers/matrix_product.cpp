// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/matrix_product.hpp>
#include <workloads/layers/row.hpp>

#include <KokkosBlas3_gemm.hpp>

namespace kadam::workloads {

void multiply_abt(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                  float keep, const Matrix<float>& c) {
  KokkosBlas::gemm(exec, "N", "T", 1.0f, a, b, keep, c);
}

void multiply_ab(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                 const Matrix<float>& c) {
  KokkosBlas::gemm(exec, "N", "N", 1.0f, a, b, 0.0f, c);
}

void multiply_atb(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                  const Matrix<float>& c) {
  KokkosBlas::gemm(exec, "T", "N", 1.0f, a, b, 0.0f, c);
}

void sum_rows(const ExecutionSpace& exec, const Matrix<const float>& matrix, float* sums) {
  constexpr std::int64_t block = 32;
  const std::int64_t rows = rows_of(matrix);
  const std::int64_t columns = columns_of(matrix);
  Kokkos::parallel_for(
      "kadam::workloads::sum_rows", row_policy(exec, (columns + block - 1) / block),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t first = member.league_rank() * block;
        const std::int64_t width = columns - first < block ? columns - first : block;
        const float* const begin = matrix.data() + first;
        row_combine(
            member, width, rows, [&](std::int64_t row, std::int64_t x) { return begin[row * columns + x]; },
            [&](std::int64_t x, float sum) { sums[first + x] = sum; });
      });
}

}  // namespace kadam::workloads
