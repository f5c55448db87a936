// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/segments.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace kadam {

/// m <- ema(m, g), v <- ema(v, g^2), where g is gradient_scale times the gradient.
struct MomentUpdate {
  Ema first;
  Ema second;
  float gradient_scale = 1.0F;  ///< factor of clipping

  template <Number T>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(float& m, float& v, const T& gradient) const {
    const float g = gradient_scale * to_float(gradient);
    m = first(m, g);
    v = second(v, g * g);
  }
};

/// target <- keep target + step m / (sqrt(v inverse_c2) + eps): adds Adam's step to `target` instead of
/// subtracting it from x. step = gamma / c1: the sum in `target` contains the learning rate of each step, so
/// a schedule never rescales it. With keep < 1 a subnormal result becomes 0.
struct AdamDirection {
  float keep = 1.0F;
  float step = 0.0F;
  float inverse_c2 = 1.0F;
  float eps = 0.0F;

  /// keep: factor on the old target; gamma: learning rate; c1, c2: bias corrections 1 - beta^t (1: none).
  static AdamDirection make(double keep, double gamma, double eps, double c1, double c2) {
    return {static_cast<float>(keep), static_cast<float>(gamma / c1), static_cast<float>(1.0 / c2),
            static_cast<float>(eps)};
  }

  /// Returns the new target.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float of(float target, float m, float v) const {
    const float moved = keep * target + step * m / (Kokkos::sqrt(v * inverse_c2) + eps);
    return keep < 1.0F ? flush_to_zero(moved) : moved;
  }
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float& m, const float& v, float& target) const {
    target = of(target, m, v);
  }
};

/// Makes the AdamDirection of a segment; make() divides on the host, for the reason given at AdamApplyOf.
struct AdamDirectionOf {
  float keep = 1.0F;
  double step = 0.0;  ///< gamma / c1, before the segment's factor
  float inverse_c2 = 1.0F;
  float eps = 0.0F;

  /// Parameters as of AdamDirection::make().
  [[nodiscard]] static AdamDirectionOf make(double keep, double gamma, double eps, double c1, double c2) {
    return {static_cast<float>(keep), gamma / c1, static_cast<float>(1.0 / c2), static_cast<float>(eps)};
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION AdamDirection operator()(std::int64_t /*segment*/,
                                                                     const SegmentFactors& factors) const {
    return {keep, static_cast<float>(step * factors.lr_scale), inverse_c2, eps};
  }
};

/// MomentUpdate, then AdamDirection with the new m and v.
struct MomentsAndDirection {
  MomentUpdate moments;
  AdamDirection direction;

  template <Number T>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(float& m, float& v, const T& gradient, float& target) const {
    moments(m, v, gradient);
    direction(m, v, target);
  }
};
/// Makes the MomentsAndDirection of a segment.
struct MomentsAndDirectionOf {
  MomentUpdate moments;
  AdamDirectionOf direction;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION MomentsAndDirection
  operator()(std::int64_t segment, const SegmentFactors& factors) const {
    return {moments, direction(segment, factors)};
  }
};

/// m <- ema(m, g), then AdamDirection with the new m and a v that is only read.
struct MomentumAndDirection {
  Ema first;
  float gradient_scale = 1.0F;  ///< factor of clipping
  AdamDirection direction;

  template <Number T>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float& v, float& m, const T& gradient,
                                              float& target) const {
    m = first(m, gradient_scale * to_float(gradient));
    direction(m, v, target);
  }
};
/// Makes the MomentumAndDirection of a segment.
struct MomentumAndDirectionOf {
  Ema first;
  float gradient_scale = 1.0F;
  AdamDirectionOf direction;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION MomentumAndDirection
  operator()(std::int64_t segment, const SegmentFactors& factors) const {
    return {first, gradient_scale, direction(segment, factors)};
  }
};

/// Updates m and v, then adds Adam's direction to target, in one pass. Rule: MomentsAndDirection, or
/// BySegment with a MomentsAndDirectionOf. Shape: m, v, gradient and target have the same length.
/// Memory: reads m, v, g, target, writes m, v, target: 28 B per element; 26 B for a gradient of 16 bits.
template <class Exec, class Rule, class MemorySpace>
void accumulate_adam_direction(const Exec& exec, const Rule& rule, const Kokkos::View<float*, MemorySpace>& m,
                               const Kokkos::View<float*, MemorySpace>& v,
                               const std::type_identity_t<Numbers<MemorySpace>>& gradient,
                               const Kokkos::View<float*, MemorySpace>& target) {
  gradient.visit([&](const auto& g) {
    for_each_element("kadam::accumulate_adam_direction", exec, static_cast<std::int64_t>(m.extent(0)), rule,
                     updates(m), updates(v), reads(g), updates(target));
  });
}

/// Updates m and v alone. Memory: reads m, v, g, writes m, v: 20 B per element; 18 B for a gradient of 16
/// bits.
template <class Exec, class MemorySpace>
void update_moments(const Exec& exec, const MomentUpdate& moments, const Kokkos::View<float*, MemorySpace>& m,
                    const Kokkos::View<float*, MemorySpace>& v,
                    const std::type_identity_t<Numbers<MemorySpace>>& gradient) {
  gradient.visit([&](const auto& g) {
    for_each_element("kadam::update_moments", exec, static_cast<std::int64_t>(m.extent(0)), moments,
                     updates(m), updates(v), reads(g));
  });
}

/// Adds Adam's direction to target, from m and v that update_moments() has updated before. Rule:
/// AdamDirection, or BySegment with an AdamDirectionOf. Memory: reads m, v, target, writes target: 16 B per
/// element.
template <class Exec, class Rule, class MemorySpace>
void accumulate_direction(const Exec& exec, const Rule& rule,
                          const Kokkos::View<const float*, MemorySpace>& m,
                          const Kokkos::View<const float*, MemorySpace>& v,
                          const Kokkos::View<float*, MemorySpace>& target) {
  for_each_element("kadam::accumulate_direction", exec, static_cast<std::int64_t>(m.extent(0)), rule,
                   reads(m), reads(v), updates(target));
}

/// x <- factor x.
struct WeightDecay {
  float factor = 1.0F;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(float& x) const { x *= factor; }
};

/// Makes the WeightDecay of a segment: factor = 1 - gamma lambda.
struct WeightDecayOf {
  double gamma = 0.0;  ///< the learning rate, before the segment's factor
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION WeightDecay operator()(std::int64_t /*segment*/,
                                                                   const SegmentFactors& factors) const {
    return {static_cast<float>(1.0 - gamma * factors.lr_scale * factors.weight_decay)};
  }
};

/// x <- factor x. Rule: WeightDecay, or BySegment with a WeightDecayOf. Memory: 8 B per element.
template <class Exec, class Rule, class MemorySpace>
void decay_weights(const Exec& exec, const Rule& rule, const Kokkos::View<float*, MemorySpace>& x) {
  for_each_element("kadam::decay_weights", exec, static_cast<std::int64_t>(x.extent(0)), rule, updates(x));
}

}  // namespace kadam
