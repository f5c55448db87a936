// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/row.hpp>
#include <workloads/layers/row_selection.hpp>

namespace kadam::workloads {

void select_rows(const ExecutionSpace& exec, const Vector<const std::int32_t>& rows,
                 const Matrix<const float>& x, const Matrix<float>& y) {
  const std::int64_t width = columns_of(x);
  Kokkos::parallel_for(
      "kadam::workloads::select_rows", row_policy(exec, rows_of(y)), KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t n = member.league_rank();
        const float* const in = x.data() + rows[static_cast<std::size_t>(n)] * width;
        float* const out = y.data() + n * width;
        row_for(member, width, [&](std::int64_t i) { out[i] = in[i]; });
      });
}

void select_rows_backward(const ExecutionSpace& exec, const Vector<const std::int32_t>& rows,
                          const Matrix<const float>& dy, const Matrix<float>& dx) {
  const std::int64_t width = columns_of(dx);
  Kokkos::deep_copy(exec, dx, 0.0f);
  Kokkos::parallel_for(
      "kadam::workloads::select_rows_backward", row_policy(exec, rows_of(dy)),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t n = member.league_rank();
        const float* const in = dy.data() + n * width;
        float* const out = dx.data() + rows[static_cast<std::size_t>(n)] * width;
        row_for(member, width, [&](std::int64_t i) { out[i] = in[i]; });
      });
}

}  // namespace kadam::workloads
