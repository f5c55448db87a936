// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/half_copy.hpp>
#include <kadam/kernels/numbers.hpp>

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

namespace detail {

/// Copy: the format of the copy, void if there is none.
template <Number T, class Copy, class MemorySpace>
struct AdamUpdate {
  AdamStep rule;
  Kokkos::View<float*, MemorySpace> x;
  Kokkos::View<float*, MemorySpace> m;
  Kokkos::View<float*, MemorySpace> v;
  Kokkos::View<const T*, MemorySpace> gradient;
  HalfCopy<MemorySpace> copy;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const float g = rule.gradient_scale * to_float(gradient(i));
    const float m_new = rule.first(m(i), g);
    const float v_new = rule.second(v(i), g * g);
    const float x_new = rule.apply(x(i), m_new, v_new);
    m(i) = m_new;
    v(i) = v_new;
    x(i) = x_new;
    if constexpr (!std::is_void_v<Copy>) copy.template write_as<Copy>(i, x_new);
  }
};

}  // namespace detail

/// Dense Adam / AdamW on elements [begin, end) (Kingma and Ba 2015; Loshchilov and Hutter 2019), with x
/// rounded into a copy if there is one.
///
/// Memory: reads x, m, v, g and writes x, m, v: 28 B per element; 26 B for a gradient of 16 bits; 2 B more
/// for the copy.
template <class Exec, class MemorySpace>
void adam_update(const Exec& exec, const AdamStep& rule, std::int64_t begin, std::int64_t end,
                 const Kokkos::View<float*, MemorySpace>& x, const Kokkos::View<float*, MemorySpace>& m,
                 const Kokkos::View<float*, MemorySpace>& v,
                 const std::type_identity_t<Numbers<MemorySpace>>& gradient,
                 const HalfCopy<MemorySpace>& copy = {}) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  const Policy policy(exec, begin, end);
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& numbers) {
    copy.visit(
        [&]<class Copy>(Copy) {
          Kokkos::parallel_for("kadam::adam_update", policy,
                               detail::AdamUpdate<T, Copy, MemorySpace>{rule, x, m, v, numbers, copy});
        },
        [&] {
          Kokkos::parallel_for("kadam::adam_update", policy,
                               detail::AdamUpdate<T, void, MemorySpace>{rule, x, m, v, numbers, copy});
        });
  });
}

}  // namespace kadam
