// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/numbers.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace kadam {

/// m, v by ema of g, g^2 (g scaled first).
struct MomentUpdate {
  Ema first;
  Ema second;
  float gradient_scale = 1.0F;  ///< of clipping
};

/// target <- keep target + step m / (sqrt(v inverse_c2) + eps): the way Adam would go, gathered up instead of
/// taken. step = gamma / c1: the learning rate is inside, so a schedule never rescales what is gathered.
struct AdamDirection {
  float keep = 1.0F;
  float step = 0.0F;
  float inverse_c2 = 1.0F;
  float eps = 0.0F;

  /// keep: decay of what is there; gamma: learning rate; c1, c2: bias corrections 1 - beta^t (1: none).
  static AdamDirection make(double keep, double gamma, double eps, double c1, double c2) {
    return {static_cast<float>(keep), static_cast<float>(gamma / c1), static_cast<float>(1.0 / c2),
            static_cast<float>(eps)};
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator()(float target, float m, float v) const {
    return keep * target + step * m / (Kokkos::sqrt(v * inverse_c2) + eps);
  }
};

namespace detail {

template <Number T, class MemorySpace>
struct UpdateMoments {
  MomentUpdate moments;
  Kokkos::View<float*, MemorySpace> m;
  Kokkos::View<float*, MemorySpace> v;
  Kokkos::View<const T*, MemorySpace> gradient;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const float g = moments.gradient_scale * to_float(gradient(i));
    m(i) = moments.first(m(i), g);
    v(i) = moments.second(v(i), g * g);
  }
};

template <Number T, class MemorySpace>
struct AccumulateAdamDirection {
  MomentUpdate moments;
  AdamDirection direction;
  Kokkos::View<float*, MemorySpace> m;
  Kokkos::View<float*, MemorySpace> v;
  Kokkos::View<const T*, MemorySpace> gradient;
  Kokkos::View<float*, MemorySpace> target;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const float g = moments.gradient_scale * to_float(gradient(i));
    const float m_new = moments.first(m(i), g);
    const float v_new = moments.second(v(i), g * g);
    m(i) = m_new;
    v(i) = v_new;
    target(i) = direction(target(i), m_new, v_new);
  }
};

}  // namespace detail

/// Both at once on elements [begin, end). Memory: reads m, v, g, target, writes m, v, target: 28 B per
/// element; 26 B for a gradient of 16 bits.
template <class Exec, class MemorySpace>
void accumulate_adam_direction(const Exec& exec, const MomentUpdate& moments, const AdamDirection& direction,
                               std::int64_t begin, std::int64_t end,
                               const Kokkos::View<float*, MemorySpace>& m,
                               const Kokkos::View<float*, MemorySpace>& v,
                               const std::type_identity_t<Numbers<MemorySpace>>& gradient,
                               const Kokkos::View<float*, MemorySpace>& target) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& numbers) {
    Kokkos::parallel_for(
        "kadam::accumulate_adam_direction", Policy(exec, begin, end),
        detail::AccumulateAdamDirection<T, MemorySpace>{moments, direction, m, v, numbers, target});
  });
}

/// The moments alone, over the whole vector. Memory: reads m, v, g, writes m, v: 20 B per element; 18 B for a
/// gradient of 16 bits.
template <class Exec, class MemorySpace>
void update_moments(const Exec& exec, const MomentUpdate& moments, const Kokkos::View<float*, MemorySpace>& m,
                    const Kokkos::View<float*, MemorySpace>& v,
                    const std::type_identity_t<Numbers<MemorySpace>>& gradient) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& numbers) {
    Kokkos::parallel_for("kadam::update_moments", Policy(exec, 0, static_cast<std::int64_t>(m.extent(0))),
                         detail::UpdateMoments<T, MemorySpace>{moments, m, v, numbers});
  });
}

/// The direction alone on elements [begin, end), from moments that are up to date.
/// Memory: reads m, v, target, writes target: 16 B per element.
template <class Exec, class MemorySpace>
void accumulate_direction(const Exec& exec, const AdamDirection& direction, std::int64_t begin,
                          std::int64_t end, const Kokkos::View<const float*, MemorySpace>& m,
                          const Kokkos::View<const float*, MemorySpace>& v,
                          const Kokkos::View<float*, MemorySpace>& target) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::accumulate_direction", Policy(exec, begin, end),
      KOKKOS_LAMBDA(const std::int64_t i) { target(i) = direction(target(i), m(i), v(i)); });
}

/// x <- decay x on elements [begin, end). Does nothing when decay is 1. Memory: 8 B per element.
template <class Exec, class MemorySpace>
void decay_weights(const Exec& exec, float decay, std::int64_t begin, std::int64_t end,
                   const Kokkos::View<float*, MemorySpace>& x) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  if (decay == 1.0F) return;
  Kokkos::parallel_for(
      "kadam::decay_weights", Policy(exec, begin, end),
      KOKKOS_LAMBDA(const std::int64_t i) { x(i) *= decay; });
}

}  // namespace kadam
