// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/layers/exponential.hpp>

namespace kadam::workloads {

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

}  // namespace kadam::workloads
