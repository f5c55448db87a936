// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/cross_entropy.hpp>
#include <workloads/layers/exponential.hpp>
#include <workloads/layers/row.hpp>

#include <Kokkos_MathematicalFunctions.hpp>

namespace kadam::workloads {
namespace {

using Rows = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;

/// Largest logit of a row and Σ_c exp(logit_c - largest).
struct SoftmaxTerms {
  float maximum;
  float sum;

  KOKKOS_INLINE_FUNCTION SoftmaxTerms(const RowMember& member, const float* logits, std::int64_t classes)
      : maximum(row_max(member, classes, [&](std::int64_t c) { return logits[c]; })),
        sum(row_sum(member, classes, [&](std::int64_t c) { return exponential(logits[c] - maximum); })) {}

  [[nodiscard]] KOKKOS_INLINE_FUNCTION float loss(float target_logit) const {
    return Kokkos::log(sum) + maximum - target_logit;
  }
};

/// Classes that are more likely than the target; NaN counts as more likely.
KOKKOS_INLINE_FUNCTION float classes_above(const RowMember& member, const float* logits, std::int64_t classes,
                                           std::int64_t target) {
  const float own = logits[target];
  return row_sum(member, classes, [&](std::int64_t c) {
    const bool below = c < target ? logits[c] < own : logits[c] <= own;
    return below ? 0.0f : 1.0f;
  });
}

}  // namespace

void cross_entropy_gradient(const ExecutionSpace& exec, const Matrix<float>& logits,
                            const Vector<const std::int32_t>& targets, float scale,
                            const Matrix<float>& results) {
  const std::int64_t classes = columns_of(logits);
  for_each_row(
      "kadam::workloads::cross_entropy_gradient", exec, rows_of(logits),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t row) {
        const std::int64_t target = targets[static_cast<std::size_t>(row)];
        float* const values = logits.data() + row * classes;
        const float keep = target < 0 ? 0.0f : 1.0f;
        const SoftmaxTerms terms(member, values, classes);
        const float loss = target < 0 ? 0.0f : terms.loss(values[target]);
        const float factor = keep * scale / terms.sum;
        row_barrier();
        row_for(member, classes,
                [&](std::int64_t c) { values[c] = factor * exponential(values[c] - terms.maximum); });
        row_barrier();
        Kokkos::single(Kokkos::PerThread(member), [&] {
          results(row, 0) = loss;
          if (target >= 0) {
            values[target] -= scale;
          }
        });
      });
}

double sum_of_losses(const ExecutionSpace& exec, const Matrix<const float>& results) {
  double sum = 0.0;
  Kokkos::parallel_reduce(
      "kadam::workloads::sum_of_losses", Rows(exec, 0, rows_of(results)),
      KOKKOS_LAMBDA(std::int64_t row, double& part) { part += static_cast<double>(results(row, 0)); }, sum);
  return sum;
}

Evaluation cross_entropy_evaluation(const ExecutionSpace& exec, const Matrix<const float>& logits,
                                    const Vector<const std::int32_t>& targets, const Matrix<float>& results) {
  const std::int64_t classes = columns_of(logits);
  Evaluation evaluation;
  for_each_row(
      "kadam::workloads::cross_entropy_evaluation", exec, rows_of(logits),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t row) {
        const std::int64_t target = targets[static_cast<std::size_t>(row)];
        const float* const values = logits.data() + row * classes;
        const float loss = target < 0 ? 0.0f : SoftmaxTerms(member, values, classes).loss(values[target]);
        const float above = target < 0 ? 1.0f : classes_above(member, values, classes, target);
        Kokkos::single(Kokkos::PerThread(member), [&] {
          results(row, 0) = loss;
          results(row, 1) = above;
        });
      });
  Kokkos::parallel_reduce(
      "kadam::workloads::sum_of_evaluations", Rows(exec, 0, rows_of(logits)),
      KOKKOS_LAMBDA(std::int64_t row, double& loss, std::int64_t& correct, std::int64_t& count) {
        loss += static_cast<double>(results(row, 0));
        correct += results(row, 1) == 0.0f ? 1 : 0;
        count += targets[static_cast<std::size_t>(row)] < 0 ? 0 : 1;
      },
      evaluation.loss_sum, evaluation.correct, evaluation.count);
  return evaluation;
}

}  // namespace kadam::workloads
