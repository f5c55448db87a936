// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/linear.hpp>
#include <workloads/layers/row.hpp>
#include <workloads/layers/row_sums.hpp>

#include <KokkosBlas3_gemm.hpp>

namespace kadam::workloads {
namespace {

/// y(row, :) = b, plus residual(row, :) if there is one.
void broadcast_bias(const ExecutionSpace& exec, const float* bias, const float* residual,
                    const Matrix<float>& y) {
  const std::int64_t columns = columns_of(y);
  for_each_row(
      "kadam::workloads::broadcast_bias", exec, rows_of(y),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t row) {
        const std::int64_t begin = row * columns;
        float* const out = y.data() + begin;
        if (residual == nullptr) {
          row_for(member, columns, [&](std::int64_t x) { out[x] = bias[x]; });
        } else {
          row_for(member, columns, [&](std::int64_t x) { out[x] = residual[begin + x] + bias[x]; });
        }
      });
}

/// C = Aᵀ B of few elements: sums over the rows of A and B, of all products of their columns.
void multiply_small_atb(const ExecutionSpace& exec, const Matrix<const float>& a,
                        const Matrix<const float>& b, Scratch& scratch, const Matrix<float>& c) {
  const std::int64_t m = columns_of(a);
  const std::int64_t n = columns_of(b);
  const float* const left = a.data();
  const float* const right = b.data();
  sum_over_rows(
      "kadam::workloads::multiply_small_atb", exec, {rows_of(a), m * n}, scratch,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t x) {
        return left[row * m + x / n] * right[row * n + x % n];
      },
      c.data());
}

}  // namespace

Linear::Linear(TensorLayoutBuilder& layout, const std::string& name, std::int64_t inputs,
               std::int64_t outputs, bool spectral)
    : inputs_(inputs),
      outputs_(outputs),
      weight_(layout.add(name + ".weight", {outputs, inputs}, spectral)),
      bias_(layout.add(name + ".bias", outputs)) {}

void Linear::initialise(const Initialiser& initialiser, double deviation) const {
  initialiser.normal(weight_, inputs_ * outputs_, deviation);
  initialiser.constant(bias_, outputs_, 0.0f);
}

void Linear::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                     const Matrix<const float>& x, const Matrix<float>& y) const {
  broadcast_bias(exec, parameters.data() + bias_, nullptr, y);
  multiply_abt(exec, x, matrix_at(parameters, weight_, outputs_, inputs_), 1.0f, y);
}

void Linear::forward_onto(const ExecutionSpace& exec, const Vector<const float>& parameters,
                          const Matrix<const float>& x, const Matrix<const float>& residual,
                          const Matrix<float>& y) const {
  broadcast_bias(exec, parameters.data() + bias_, residual.data(), y);
  multiply_abt(exec, x, matrix_at(parameters, weight_, outputs_, inputs_), 1.0f, y);
}

void Linear::backward_parameters(const ExecutionSpace& exec, const Matrix<const float>& x,
                                 const Matrix<const float>& dy, const GradientSink& gradient) const {
  multiply_atb(exec, dy, x, gradient.scratch(), gradient.tensor(weight_, outputs_, inputs_));
  sum_rows(exec, dy, gradient.scratch(), gradient.tensor(bias_));
  gradient.finish({weight_, bias_ + outputs_});
}

void Linear::backward_input(const ExecutionSpace& exec, const Vector<const float>& parameters,
                            const Matrix<const float>& dy, const Matrix<float>& dx) const {
  multiply_ab(exec, dy, matrix_at(parameters, weight_, outputs_, inputs_), dx);
}

// A vendor's library adds float32 products of float32 numbers: KokkosBlas asks for no TF32, and nor does this
// code.

void multiply_abt(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                  float keep, const Matrix<float>& c) {
  KokkosBlas::gemm(exec, "N", "T", 1.0f, a, b, keep, c);
}

void multiply_ab(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                 const Matrix<float>& c) {
  KokkosBlas::gemm(exec, "N", "N", 1.0f, a, b, 0.0f, c);
}

void multiply_atb(const ExecutionSpace& exec, const Matrix<const float>& a, const Matrix<const float>& b,
                  Scratch& scratch, const Matrix<float>& c) {
  if constexpr (!one_thread_per_row) {
    // On devices KokkosBlas adds up so small products by atomics: other bits in every run.
    constexpr std::int64_t added_by_atomics_below = 100;
    if (rows_of(c) * columns_of(c) < added_by_atomics_below) {
      multiply_small_atb(exec, a, b, scratch, c);
      return;
    }
  }
  KokkosBlas::gemm(exec, "T", "N", 1.0f, a, b, 0.0f, c);
}

void sum_rows(const ExecutionSpace& exec, const Matrix<const float>& matrix, Scratch& scratch, float* sums) {
  const std::int64_t columns = columns_of(matrix);
  const float* const data = matrix.data();
  sum_over_rows(
      "kadam::workloads::sum_rows", exec, {rows_of(matrix), columns}, scratch,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t x) { return data[row * columns + x]; }, sums);
}

}  // namespace kadam::workloads
