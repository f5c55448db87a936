// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/adam_update.hpp>

#include <cstdint>

/// What a step with a frozen variance does to one coordinate, before and after the exchange: fused into the
/// encoding and the decoding of messages.
namespace kadam {

/// y = ema(m, g, beta1)
struct LocalMomentum {
  Vector<float> m;
  Vector<const float> gradient;
  Ema first;
  float gradient_scale;
  KOKKOS_FORCEINLINE_FUNCTION float operator()(const std::int64_t i) const {
    return first(m(i), gradient_scale * gradient(i));
  }
};

/// y / (sqrt(v) + eps): legal, because v is frozen and equal on all ranks.
struct PreconditionedMomentum {
  LocalMomentum y;
  Vector<float> v;
  float eps;
  KOKKOS_FORCEINLINE_FUNCTION float operator()(const std::int64_t i) const {
    return y(i) / (Kokkos::sqrt(v(i)) + eps);
  }
};

/// m <- mean of y;  x <- AdamApply(x, m, v). Coordinates without variance only decay.
struct FrozenUpdate {
  Vector<float> x;
  Vector<float> m;
  Vector<float> v;
  AdamApply apply;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean) const {
    m(i) = mean;
    x(i) = apply(x(i), mean, v(i));
  }
  /// What is kept out of compression has variance, and its own exact mean.
  KOKKOS_FORCEINLINE_FUNCTION void inactive(const std::int64_t i) const {
    if (!(v(i) > 0.0F)) x(i) *= apply.decay;
  }
};

/// The same for a mean of y / (sqrt(v) + eps).
struct PreconditionedUpdate {
  Vector<float> x;
  Vector<float> m;
  Vector<float> v;
  AdamApply apply;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean) const {
    m(i) = mean * (Kokkos::sqrt(v(i)) + apply.eps);
    x(i) = apply.decay * x(i) - apply.step * mean;
  }
  KOKKOS_FORCEINLINE_FUNCTION void inactive(const std::int64_t i) const {
    if (!(v(i) > 0.0F)) x(i) *= apply.decay;
  }
};

}  // namespace kadam
