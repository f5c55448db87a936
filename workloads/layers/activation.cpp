// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/activation.hpp>
#include <workloads/layers/exponential.hpp>

#include <cstdint>
#include <stdexcept>

namespace kadam::workloads {
namespace {

/// GELU in its tanh form (Hendrycks and Gimpel 2016): x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2,
/// written as x σ(u) with u = 2 √(2/π) (x + 0.044715 x³).
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float gelu(float x) {
  const float u = 1.5957691216f * x * (1.0f + 0.044715f * x * x);
  return x / (1.0f + exponential(-u));
}

/// d gelu / dx = σ + x σ (1 - σ) u'.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float gelu_derivative(float x) {
  const float u = 1.5957691216f * x * (1.0f + 0.044715f * x * x);
  const float slope = 1.5957691216f * (1.0f + 3.0f * 0.044715f * x * x);
  const float sigma = 1.0f / (1.0f + exponential(-u));
  return sigma + x * sigma * (1.0f - sigma) * slope;
}

using Elements = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;

std::int64_t size_of(const Matrix<float>& matrix) {
  return rows_of(matrix) * columns_of(matrix);
}

}  // namespace

Activation activation_named(const std::string& name) {
  if (name == "relu") {
    return Activation::relu;
  }
  if (name == "gelu") {
    return Activation::gelu;
  }
  throw std::invalid_argument("kadam::workloads: activation '" + name + "' is not known: use relu or gelu");
}

void activation_forward(const ExecutionSpace& exec, Activation activation, const Matrix<const float>& input,
                        const Matrix<float>& output) {
  const float* const x = input.data();
  float* const y = output.data();
  const Elements elements(exec, 0, size_of(output));
  if (activation == Activation::relu) {
    Kokkos::parallel_for(
        "kadam::workloads::relu_forward", elements,
        KOKKOS_LAMBDA(std::int64_t i) { y[i] = x[i] < 0.0f ? 0.0f : x[i]; });
  } else {
    Kokkos::parallel_for(
        "kadam::workloads::gelu_forward", elements, KOKKOS_LAMBDA(std::int64_t i) { y[i] = gelu(x[i]); });
  }
}

void activation_backward(const ExecutionSpace& exec, Activation activation, const Matrix<const float>& input,
                         const Matrix<float>& gradient) {
  const float* const x = input.data();
  float* const dy = gradient.data();
  const Elements elements(exec, 0, size_of(gradient));
  if (activation == Activation::relu) {
    Kokkos::parallel_for(
        "kadam::workloads::relu_backward", elements,
        KOKKOS_LAMBDA(std::int64_t i) { dy[i] = x[i] <= 0.0f ? 0.0f : dy[i]; });
  } else {
    Kokkos::parallel_for(
        "kadam::workloads::gelu_backward", elements,
        KOKKOS_LAMBDA(std::int64_t i) { dy[i] *= gelu_derivative(x[i]); });
  }
}

}  // namespace kadam::workloads
