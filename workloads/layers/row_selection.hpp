// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/matrix.hpp>

#include <cstdint>

namespace kadam::workloads {

/// y(n, :) = x(rows_n, :). Shape: x [any][width], rows [n] without repetition, y [n][width].
void select_rows(const ExecutionSpace& exec, const Vector<const std::int32_t>& rows,
                 const Matrix<const float>& x, const Matrix<float>& y);

/// dx(rows_n, :) = dy(n, :), and 0 in all other rows.
void select_rows_backward(const ExecutionSpace& exec, const Vector<const std::int32_t>& rows,
                          const Matrix<const float>& dy, const Matrix<float>& dx);

}  // namespace kadam::workloads
