// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

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

/// ema(a, b) = beta a + (1 - beta) b.
struct Ema {
  float keep = 0.0F;
  float take = 1.0F;

  static Ema make(double beta) { return {static_cast<float>(beta), static_cast<float>(1.0 - beta)}; }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator()(float a, float b) const {
    return keep * a + take * b;
  }
};

/// What a dense Adam step does to one coordinate: m, v by ema of g, g^2 (g scaled first), then AdamApply.
struct AdamStep {
  Ema first;
  Ema second;
  float gradient_scale = 1.0F;  ///< of clipping
  AdamApply apply;
};

/// Dense Adam / AdamW on elements [begin, end) (Kingma and Ba 2015; Loshchilov and Hutter 2019).
///
/// Memory: reads x, m, v, g and writes x, m, v: 28 B per element.
template <class Exec, class MemorySpace>
void adam_update(const Exec& exec, const AdamStep& rule, std::int64_t begin, std::int64_t end,
                 const Kokkos::View<float*, MemorySpace>& x, const Kokkos::View<float*, MemorySpace>& m,
                 const Kokkos::View<float*, MemorySpace>& v,
                 const Kokkos::View<const float*, MemorySpace>& gradient) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::adam_update", Policy(exec, begin, end), KOKKOS_LAMBDA(const std::int64_t i) {
        const float g = rule.gradient_scale * gradient(i);
        const float m_new = rule.first(m(i), g);
        const float v_new = rule.second(v(i), g * g);
        m(i) = m_new;
        v(i) = v_new;
        x(i) = rule.apply(x(i), m_new, v_new);
      });
}

}  // namespace kadam
