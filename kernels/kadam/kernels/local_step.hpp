// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/numbers.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace kadam {

/// One coordinate between two synchronisations of 0/1 Adam: m <- ema(m, g, beta1); u <- u + gamma m; the
/// rank's own working parameter is decay x - u / D, D = sqrt(v inverse_c2) + eps.
///
/// decay = 1 - lambda Gamma, with Gamma the sum of the learning rates since the last synchronisation.
struct LocalStep {
  Ema first;
  float gradient_scale = 1.0F;  ///< of clipping
  float gamma = 0.0F;
  float decay = 1.0F;
  float inverse_c2 = 1.0F;
  float eps = 0.0F;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float denominator(float v) const {
    return Kokkos::sqrt(v * inverse_c2) + eps;
  }
  /// A coordinate without variance takes no local step: dividing by eps alone would throw it far off.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float working(float x, float u, float v) const {
    const float decayed = decay * x;
    return v > 0.0F ? decayed - u / denominator(v) : decayed;
  }
};

namespace detail {

template <Number T, class MemorySpace>
struct AccumulateLocalMomentum {
  LocalStep rule;
  Kokkos::View<float*, MemorySpace> m;
  Kokkos::View<float*, MemorySpace> u;
  Kokkos::View<const T*, MemorySpace> gradient;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const float m_new = rule.first(m(i), rule.gradient_scale * to_float(gradient(i)));
    m(i) = m_new;
    u(i) += rule.gamma * m_new;
  }
};

}  // namespace detail

/// m and u on elements [begin, end). Memory: reads m, u, g, writes m, u: 20 B per element; 18 B for a
/// gradient of 16 bits.
template <class Exec, class MemorySpace>
void accumulate_local_momentum(const Exec& exec, const LocalStep& rule, std::int64_t begin, std::int64_t end,
                               const Kokkos::View<float*, MemorySpace>& m,
                               const Kokkos::View<float*, MemorySpace>& u,
                               const std::type_identity_t<Numbers<MemorySpace>>& gradient) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& numbers) {
    Kokkos::parallel_for("kadam::accumulate_local_momentum", Policy(exec, begin, end),
                         detail::AccumulateLocalMomentum<T, MemorySpace>{rule, m, u, numbers});
  });
}

/// out(i) = the working parameter of element i in [begin, end).
/// Memory: reads x, u, v, writes out: 16 B per element.
template <class Exec, class MemorySpace>
void write_working_parameters(const Exec& exec, const LocalStep& rule, std::int64_t begin, std::int64_t end,
                              const Kokkos::View<const float*, MemorySpace>& x,
                              const Kokkos::View<const float*, MemorySpace>& u,
                              const Kokkos::View<const float*, MemorySpace>& v,
                              const Kokkos::View<float*, MemorySpace>& out) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::write_working_parameters", Policy(exec, begin, end),
      KOKKOS_LAMBDA(const std::int64_t i) { out(i) = rule.working(x(i), u(i), v(i)); });
}

}  // namespace kadam
