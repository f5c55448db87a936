// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/local_step.hpp>

#include <cstdint>

namespace kadam {

/// x <- (1 - lambda Gamma) x - mean / D;  m <- mean / Gamma;  u <- 0. Where there is no variance, or no
/// learning rate, nothing comes from the mean.
struct ZeroOneSynchronise {
  LocalStep rule;
  float inverse_gamma_sum;  ///< 0 where Gamma = 0
  Vector<float> x;
  Vector<float> m;
  Vector<float> v;
  Vector<float> u;
  Vector<float> parameters;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean) const {
    if (!(v(i) > 0.0F)) {
      inactive(i);
      return;
    }
    const bool moves = inverse_gamma_sum > 0.0F;
    const float next = moves ? rule.decay * x(i) - mean / rule.denominator(v(i)) : x(i);
    if (moves) m(i) = mean * inverse_gamma_sum;
    u(i) = 0.0F;
    x(i) = next;
    parameters(i) = next;
  }
  KOKKOS_FORCEINLINE_FUNCTION void inactive(const std::int64_t i) const {
    if (v(i) > 0.0F) return;  // kept dense: its exact mean does it
    const float next = rule.decay * x(i);
    m(i) = 0.0F;
    u(i) = 0.0F;
    x(i) = next;
    parameters(i) = next;
  }
};

/// The same for tensors kept dense: those of their elements that have no variance were inactive in the code.
struct ZeroOneSynchroniseKeptDense {
  ZeroOneSynchronise update;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean) const {
    if (update.v(i) > 0.0F) update(i, mean);
  }
};

}  // namespace kadam
