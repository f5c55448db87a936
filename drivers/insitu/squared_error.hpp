// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/matrix.hpp>

namespace kadam::insitu {

/// L = 1/(n m) Σ (y - t)^2 over n examples of m outputs. Replaces the outputs y by the gradient dL/dy and
/// returns L. Waits for exec. Memory: 12 B per output.
[[nodiscard]] double squared_error_gradient(const ExecutionSpace& exec,
                                            const workloads::Matrix<float>& outputs,
                                            const workloads::Matrix<const float>& targets);

}  // namespace kadam::insitu
