// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/matrix.hpp>

namespace kadam::workloads {

/// C = A Bᵀ + keep C. Shape: A [m][k], B [n][k], C [m][n].
void multiply_abt(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                  float keep, const Matrix<float>& c);

/// C = A B. Shape: A [m][k], B [k][n], C [m][n].
void multiply_ab(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                 const Matrix<float>& c);

/// C = Aᵀ B. Shape: A [k][m], B [k][n], C [m][n].
void multiply_atb(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                  const Matrix<float>& c);

/// sums[x] = Σ_rows matrix(row, x), rows added in order.
void sum_rows(const ExecutionSpace& exec, const Matrix<const float>& matrix, float* sums);

}  // namespace kadam::workloads
