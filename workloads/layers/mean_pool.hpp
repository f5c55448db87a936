// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/matrix.hpp>

namespace kadam::workloads {

/// y(e, :) = mean of the rows of x that belong to example e.
/// Shape: x [examples * positions][width], y [examples][width].
void mean_pool(const ExecutionSpace& exec, const Matrix<const float>& x, const Matrix<float>& y);

/// dx(n, :) = dy(e, :) / positions for each row n of example e.
void mean_pool_backward(const ExecutionSpace& exec, const Matrix<const float>& dy, const Matrix<float>& dx);

}  // namespace kadam::workloads
