// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/layer_norm.hpp>
#include <workloads/layers/linear.hpp>
#include <workloads/layers/row.hpp>
#include <workloads/layers/row_sums.hpp>

#include <Kokkos_MathematicalFunctions.hpp>

namespace kadam::workloads {
namespace {

void normalise_rows(const ExecutionSpace& exec, const float* scale, const Matrix<const float>& x,
                    const Matrix<float>& statistics, const Matrix<float>& y) {
  const std::int64_t width = columns_of(x);
  const float* const shift = scale + width;  // the next tensor, see the constructor
  for_each_row(
      "kadam::workloads::layer_norm_forward", exec, rows_of(x),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t row) {
        const float* const in = x.data() + row * width;
        float* const out = y.data() + row * width;
        const float count = static_cast<float>(width);
        const float mean = row_sum(member, width, [&](std::int64_t i) { return in[i]; }) / count;
        const float variance =
            row_sum(member, width, [&](std::int64_t i) { return (in[i] - mean) * (in[i] - mean); }) / count;
        const float factor = 1.0f / Kokkos::sqrt(variance + 1e-5f);
        row_for(member, width,
                [&](std::int64_t i) { out[i] = scale[i] * ((in[i] - mean) * factor) + shift[i]; });
        Kokkos::single(Kokkos::PerThread(member), [&] {
          statistics(row, 0) = mean;
          statistics(row, 1) = factor;
        });
      });
}

void scale_gradient(const ExecutionSpace& exec, const Matrix<const float>& x,
                    const Matrix<const float>& statistics, const Matrix<const float>& dy, Scratch& scratch,
                    float* dscale) {
  const std::int64_t width = columns_of(x);
  const float* const in = x.data();
  const float* const out = dy.data();
  const float* const stats = statistics.data();
  sum_over_rows(
      "kadam::workloads::layer_norm_scale_gradient", exec, {rows_of(x), width}, scratch,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t i) {
        return out[row * width + i] * ((in[row * width + i] - stats[2 * row]) * stats[2 * row + 1]);
      },
      dscale);
}

void input_gradient(const ExecutionSpace& exec, const float* scale, const Matrix<const float>& x,
                    const Matrix<const float>& statistics, const Matrix<const float>& dy,
                    const Matrix<float>& dx) {
  const std::int64_t width = columns_of(x);
  for_each_row(
      "kadam::workloads::layer_norm_input_gradient", exec, rows_of(x),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t row) {
        const float* const in = x.data() + row * width;
        const float* const out = dy.data() + row * width;
        float* const result = dx.data() + row * width;
        const float mean = statistics(row, 0);
        const float factor = statistics(row, 1);
        const float count = static_cast<float>(width);
        const float g_mean =
            row_sum(member, width, [&](std::int64_t i) { return scale[i] * out[i]; }) / count;
        const float gx_mean =
            row_sum(member, width,
                    [&](std::int64_t i) { return scale[i] * out[i] * ((in[i] - mean) * factor); }) /
            count;
        row_for(member, width, [&](std::int64_t i) {
          const float normalised = (in[i] - mean) * factor;
          result[i] += (scale[i] * out[i] - g_mean - normalised * gx_mean) * factor;
        });
      });
}

}  // namespace

LayerNorm::LayerNorm(TensorLayoutBuilder& layout, const std::string& name, std::int64_t width)
    : width_(width), scale_(layout.add(name + ".weight", width)), shift_(layout.add(name + ".bias", width)) {}

void LayerNorm::initialise(const Initialiser& initialiser) const {
  initialiser.constant(scale_, width_, 1.0f);
  initialiser.constant(shift_, width_, 0.0f);
}

void LayerNorm::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                        const Matrix<const float>& x, const Matrix<float>& statistics,
                        const Matrix<float>& y) const {
  normalise_rows(exec, parameters.data() + scale_, x, statistics, y);
}

void LayerNorm::backward_parameters(const ExecutionSpace& exec, const Matrix<const float>& x,
                                    const Matrix<const float>& statistics, const Matrix<const float>& dy,
                                    const GradientSink& gradient) const {
  scale_gradient(exec, x, statistics, dy, gradient.scratch(), gradient.tensor(scale_));
  sum_rows(exec, dy, gradient.scratch(), gradient.tensor(shift_));
  gradient.finish({scale_, shift_ + width_});
}

void LayerNorm::backward_input(const ExecutionSpace& exec, const Vector<const float>& parameters,
                               const Matrix<const float>& x, const Matrix<const float>& statistics,
                               const Matrix<const float>& dy, const Matrix<float>& dx) const {
  input_gradient(exec, parameters.data() + scale_, x, statistics, dy, dx);
}

}  // namespace kadam::workloads
