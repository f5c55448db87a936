// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/matrix.hpp>
#include <workloads/model.hpp>

#include <cstdint>

namespace kadam::workloads {

/// loss_n = log Σ_c exp(logits(n, c)) - logits(n, target_n) for each row n, and its gradient in place of the
/// logits: logits(n, c) = scale * (softmax(logits(n, :))_c - [c = target_n]).
/// A row with a negative target is ignored: its loss and gradient are 0.
/// Shape: logits [n][classes], targets [n], results [n][2] with the loss in column 0. Memory: 12 B per logit.
void cross_entropy_gradient(const ExecutionSpace& exec, const Matrix<float>& logits,
                            const Vector<const std::int32_t>& targets, float scale,
                            const Matrix<float>& results);

/// The sum of column 0 of `results`, in double precision. Waits for `exec`.
[[nodiscard]] double sum_of_losses(const ExecutionSpace& exec, const Matrix<const float>& results);

/// Loss and correct predictions over the rows whose target is not negative. A row is correct if the target is
/// the first class with the largest logit. `results` [n][2] is scratch. Waits for `exec`.
[[nodiscard]] Evaluation cross_entropy_evaluation(const ExecutionSpace& exec,
                                                  const Matrix<const float>& logits,
                                                  const Vector<const std::int32_t>& targets,
                                                  const Matrix<float>& results);

}  // namespace kadam::workloads
