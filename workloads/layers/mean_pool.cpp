// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/mean_pool.hpp>
#include <workloads/layers/row.hpp>

namespace kadam::workloads {

void mean_pool(const ExecutionSpace& exec, const Matrix<const float>& x, const Matrix<float>& y) {
  const std::int64_t width = columns_of(x);
  const std::int64_t positions = rows_of(x) / rows_of(y);
  const float factor = 1.0f / static_cast<float>(positions);
  Kokkos::parallel_for(
      "kadam::workloads::mean_pool", row_policy(exec, rows_of(y)), KOKKOS_LAMBDA(const RowMember& member) {
        const float* const in = x.data() + member.league_rank() * positions * width;
        float* const out = y.data() + member.league_rank() * width;
        row_combine(
            member, width, positions,
            [&](std::int64_t position, std::int64_t i) { return in[position * width + i]; },
            [&](std::int64_t i, float sum) { out[i] = factor * sum; });
      });
}

void mean_pool_backward(const ExecutionSpace& exec, const Matrix<const float>& dy, const Matrix<float>& dx) {
  const std::int64_t width = columns_of(dx);
  const std::int64_t positions = rows_of(dx) / rows_of(dy);
  const float factor = 1.0f / static_cast<float>(positions);
  Kokkos::parallel_for(
      "kadam::workloads::mean_pool_backward", row_policy(exec, rows_of(dx)),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t row = member.league_rank();
        const float* const in = dy.data() + row / positions * width;
        float* const out = dx.data() + row * width;
        row_for(member, width, [&](std::int64_t i) { out[i] = factor * in[i]; });
      });
}

}  // namespace kadam::workloads
