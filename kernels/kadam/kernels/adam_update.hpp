// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/half_copy.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/segments.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace kadam {

/// x <- decay x - step m / (sqrt(v inverse_c2) + eps): Adam's update of one coordinate, with decoupled weight
/// decay.
///
/// decay = 1 - gamma lambda, step = gamma / c1, inverse_c2 = 1 / c2, each computed in double and rounded
/// once.
struct AdamApply {
  float decay = 1.0F;
  float step = 0.0F;
  float inverse_c2 = 1.0F;
  float eps = 0.0F;

  /// gamma: learning rate; lambda: weight decay; c1, c2: bias corrections 1 - beta^t (1: none).
  static AdamApply make(double gamma, double lambda, double eps, double c1, double c2) {
    return {static_cast<float>(1.0 - gamma * lambda), static_cast<float>(gamma / c1),
            static_cast<float>(1.0 / c2), static_cast<float>(eps)};
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator()(float x, float m, float v) const {
    return decay * x - step * m / (Kokkos::sqrt(v * inverse_c2) + eps);
  }
};

/// ema(a, b), or ema(a, b, beta), = beta a + (1 - beta) b; 0 where that is subnormal, as the moments of a
/// coordinate without gradients would become and remain.
struct Ema {
  float keep = 0.0F;
  float take = 1.0F;

  static Ema make(double beta) { return {static_cast<float>(beta), static_cast<float>(1.0 - beta)}; }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator()(float a, float b) const {
    return flush_to_zero(unflushed(a, b));
  }
  /// The same, but subnormal numbers stay: for a result that is encoded, because encoders flush.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float unflushed(float a, float b) const {
    return keep * a + take * b;
  }
};

/// Makes the AdamApply of a segment. make() does the divisions on the host: in a kernel, a division in double
/// would need as many registers as all the rest.
struct AdamApplyOf {
  double gamma = 0.0;  ///< the learning rate, before the segment's factor
  double step = 0.0;   ///< gamma / c1
  float inverse_c2 = 1.0F;
  float eps = 0.0F;

  /// gamma: learning rate; c1, c2: bias corrections 1 - beta^t (1: none).
  [[nodiscard]] static AdamApplyOf make(double gamma, double eps, double c1, double c2) {
    return {gamma, gamma / c1, static_cast<float>(1.0 / c2), static_cast<float>(eps)};
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION AdamApply operator()(std::int64_t /*segment*/,
                                                                 const SegmentFactors& factors) const {
    return {static_cast<float>(1.0 - gamma * factors.lr_scale * factors.weight_decay),
            static_cast<float>(step * factors.lr_scale), inverse_c2, eps};
  }
};

/// A dense Adam step of one coordinate: m <- ema(m, g), v <- ema(v, g^2), where g is gradient_scale times the
/// gradient; then AdamApply to x.
struct AdamStep {
  Ema first;
  Ema second;
  float gradient_scale = 1.0F;  ///< factor of clipping
  AdamApply apply;

  template <Number T>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(float& x, float& m, float& v, const T& gradient) const {
    const float g = gradient_scale * to_float(gradient);
    const float m_new = first(m, g);
    const float v_new = second(v, g * g);
    const float x_new = apply(x, m_new, v_new);
    m = m_new;
    v = v_new;
    x = x_new;
  }
  /// The same; then copy <- the new x, rounded.
  template <Number T, Number Copy>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(float& x, float& m, float& v, const T& gradient,
                                              Copy& copy) const {
    (*this)(x, m, v, gradient);
    copy = round_to<Copy>(x);
  }
};

/// Makes the AdamStep of a segment.
struct AdamStepOf {
  Ema first;
  Ema second;
  float gradient_scale = 1.0F;
  AdamApplyOf apply;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION AdamStep operator()(std::int64_t segment,
                                                                const SegmentFactors& factors) const {
    return {first, second, gradient_scale, apply(segment, factors)};
  }
};

/// AdamStep with a v that is only read: m <- ema(m, g), then AdamApply to x.
struct MomentumStep {
  Ema first;
  float gradient_scale = 1.0F;  ///< factor of clipping
  AdamApply apply;

  template <Number T>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float& v, float& x, float& m, const T& gradient) const {
    m = first(m, gradient_scale * to_float(gradient));
    x = apply(x, m, v);
  }
};
/// Makes the MomentumStep of a segment.
struct MomentumStepOf {
  Ema first;
  float gradient_scale = 1.0F;
  AdamApplyOf apply;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION MomentumStep operator()(std::int64_t segment,
                                                                    const SegmentFactors& factors) const {
    return {first, gradient_scale, apply(segment, factors)};
  }
};

/// Dense Adam / AdamW on all elements (Kingma and Ba 2015; Loshchilov and Hutter 2019); also writes the new
/// x, rounded, into `copy` if it exists. Rule: AdamStep, or BySegment with an AdamStepOf.
///
/// Shape: x, m, v, gradient and copy have the same length. Memory: reads x, m, v, g and writes x, m, v: 28 B
/// per element; 26 B for a gradient of 16 bits; 2 B more for the copy.
template <class Exec, class Rule, class MemorySpace>
void adam_update(const Exec& exec, const Rule& rule, const Kokkos::View<float*, MemorySpace>& x,
                 const Kokkos::View<float*, MemorySpace>& m, const Kokkos::View<float*, MemorySpace>& v,
                 const std::type_identity_t<Numbers<MemorySpace>>& gradient,
                 const HalfCopy<MemorySpace>& copy = {}) {
  const auto elements = static_cast<std::int64_t>(x.extent(0));
  gradient.visit([&](const auto& g) {
    copy.visit(
        [&](const auto& half) {
          for_each_element("kadam::adam_update", exec, elements, rule, updates(x), updates(m), updates(v),
                           reads(g), writes(half));
        },
        [&] {
          for_each_element("kadam::adam_update", exec, elements, rule, updates(x), updates(m), updates(v),
                           reads(g));
        });
  });
}

}  // namespace kadam
