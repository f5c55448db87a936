// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/half_copy.hpp>
#include <kadam/kernels/number_format.hpp>

#include <cstdint>

/// The rules of a step with a frozen variance for one coordinate, before and after the exchange: kernels that
/// encode and decode messages apply them in the same pass.
///
/// After a compressed step the momentum is the vector that all ranks have decoded. It stays in the message of
/// that step and is read from there, bits/8 bytes per element; it is not written as float32. Only the first
/// compressed step, or the first after a state was read without its message, starts from a float32 momentum.
namespace kadam {

/// y = ema(m, g, beta1), a rule of OfNumbers: g is the gradient of element i, m its momentum after the last
/// step.
struct LocalMomentum {
  Ema first;
  float gradient_scale;
  KOKKOS_FORCEINLINE_FUNCTION float operator()(const float g, const std::int64_t /*i*/, const float m) const {
    return first.unflushed(m, gradient_scale * g);
  }
};

/// y / (sqrt(v) + eps), where `decoded` is m / (sqrt(v) + eps) from the last message. Its product with the
/// denominator is m, because v is the same on all ranks.
struct PreconditionedMomentum {
  LocalMomentum y;
  Vector<const float> v;
  float eps;
  KOKKOS_FORCEINLINE_FUNCTION float operator()(const float g, const std::int64_t i,
                                               const float decoded) const {
    const float denominator = Kokkos::sqrt(v(i)) + eps;
    return y(g, i, decoded * denominator) / denominator;
  }
};

/// LocalMomentum of m in float32.
struct FromMomentum {
  LocalMomentum y;
  Vector<const float> m;
  KOKKOS_FORCEINLINE_FUNCTION float operator()(const float g, const std::int64_t i) const {
    return y(g, i, m(i));
  }
};

/// The same, divided by sqrt(v) + eps.
struct PreconditionedFromMomentum {
  FromMomentum y;
  Vector<const float> v;
  float eps;
  KOKKOS_FORCEINLINE_FUNCTION float operator()(const float g, const std::int64_t i) const {
    return y(g, i) / (Kokkos::sqrt(v(i)) + eps);
  }
};

/// x <- AdamApply(x, mean of y, v), with the rule of the segment. Coordinates without variance only decay.
struct FrozenUpdate {
  struct Loaded {
    float x;
    float v;
  };
  Vector<float> x;
  Vector<const float> v;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean,
                                              const AdamApply& apply) const {
    store(i, mean, apply, load(i));
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Loaded load(const std::int64_t i) const { return {x(i), v(i)}; }
  KOKKOS_FORCEINLINE_FUNCTION void store(const std::int64_t i, const float mean, const AdamApply& apply,
                                         const Loaded& loaded) const {
    x(i) = apply(loaded.x, mean, loaded.v);
  }
  /// Inactive coordinates with variance belong to tensors kept dense, which KeptDenseUpdate updates.
  KOKKOS_FORCEINLINE_FUNCTION void inactive(const std::int64_t i, const AdamApply& apply) const {
    if (!(v(i) > 0.0F)) x(i) *= apply.decay;
  }
};

/// The same for a mean of y / (sqrt(v) + eps).
struct PreconditionedUpdate {
  Vector<float> x;
  Vector<const float> v;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean,
                                              const AdamApply& apply) const {
    x(i) = apply.decay * x(i) - apply.step * mean;
  }
  KOKKOS_FORCEINLINE_FUNCTION void inactive(const std::int64_t i, const AdamApply& apply) const {
    if (!(v(i) > 0.0F)) x(i) *= apply.decay;
  }
};

/// For tensors kept dense, whose momentum stays float32: m <- mean of y, then FrozenUpdate, where v > 0.
struct KeptDenseUpdate {
  WithCopy<MemorySpace, FrozenUpdate> update;
  Vector<float> m;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean,
                                              const AdamApply& apply) const {
    if (!(update.update.v(i) > 0.0F)) return;
    m(i) = flush_to_zero(mean);
    update(i, m(i), apply);
  }
};

}  // namespace kadam
