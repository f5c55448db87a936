// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/segments.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace kadam {

/// Step of one coordinate between two synchronisations of 0/1 Adam: m <- ema(m, g, beta1); u <- u + gamma m;
/// the working parameter of this rank is decay x - u / D, D = sqrt(v inverse_c2) + eps.
///
/// decay = 1 - lambda Gamma, with Gamma the sum of the learning rates since the last synchronisation.
struct LocalStep {
  Ema first;
  float gradient_scale = 1.0F;  ///< factor of clipping
  float gamma = 0.0F;
  float decay = 1.0F;
  float inverse_c2 = 1.0F;
  float eps = 0.0F;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float denominator(float v) const {
    return Kokkos::sqrt(v * inverse_c2) + eps;
  }
  /// Returns decay x - u / D. A coordinate without variance takes no local step: dividing by eps alone would
  /// throw it far off.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float working(float x, float u, float v) const {
    const float decayed = decay * x;
    return v > 0.0F ? decayed - u / denominator(v) : decayed;
  }
};

/// Makes the LocalStep of a segment.
struct LocalStepOf {
  Ema first;
  float gradient_scale = 1.0F;
  double gamma = 0.0;      ///< the learning rate, before the segment's factor
  double gamma_sum = 0.0;  ///< Gamma, before the segment's factor
  float inverse_c2 = 1.0F;
  float eps = 0.0F;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION LocalStep operator()(std::int64_t /*segment*/,
                                                                 const SegmentFactors& factors) const {
    return {first,
            gradient_scale,
            static_cast<float>(gamma * factors.lr_scale),
            static_cast<float>(1.0 - factors.weight_decay * gamma_sum * factors.lr_scale),
            inverse_c2,
            eps};
  }
};

namespace detail {

/// The part of a LocalStep that updates m and u.
struct AccumulateLocalMomentum {
  LocalStep step;

  template <Number T>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(float& m, float& u, const T& gradient) const {
    const float m_new = step.first(m, step.gradient_scale * to_float(gradient));
    m = m_new;
    u += step.gamma * m_new;
  }
};

/// The part of a LocalStep that writes the working parameter.
struct WriteWorkingParameters {
  LocalStep step;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float& x, const float& u, const float& v,
                                              float& out) const {
    out = step.working(x, u, v);
  }
};

/// Makes a part of the LocalStep of a segment.
template <class Part>
struct PartOfLocalStep {
  LocalStepOf step_of;
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Part operator()(std::int64_t segment,
                                                            const SegmentFactors& factors) const {
    return {step_of(segment, factors)};
  }
};

}  // namespace detail

/// m <- ema(m, g); u <- u + gamma m. Memory: reads m, u, g, writes m, u: 20 B per element; 18 B for a
/// gradient of 16 bits.
template <class Exec, class MemorySpace>
void accumulate_local_momentum(const Exec& exec, const BySegment<MemorySpace, LocalStepOf>& rule,
                               const Kokkos::View<float*, MemorySpace>& m,
                               const Kokkos::View<float*, MemorySpace>& u,
                               const std::type_identity_t<Numbers<MemorySpace>>& gradient) {
  using Part = detail::PartOfLocalStep<detail::AccumulateLocalMomentum>;
  const BySegment<MemorySpace, Part> part{rule.segments, {rule.rule_of}, rule.offset};
  gradient.visit([&](const auto& g) {
    for_each_element("kadam::accumulate_local_momentum", exec, static_cast<std::int64_t>(m.extent(0)), part,
                     updates(m), updates(u), reads(g));
  });
}

/// out(i) <- LocalStep::working() of element i. Memory: reads x, u, v, writes out: 16 B per element.
template <class Exec, class MemorySpace>
void write_working_parameters(const Exec& exec, const BySegment<MemorySpace, LocalStepOf>& rule,
                              const Kokkos::View<const float*, MemorySpace>& x,
                              const Kokkos::View<const float*, MemorySpace>& u,
                              const Kokkos::View<const float*, MemorySpace>& v,
                              const Kokkos::View<float*, MemorySpace>& out) {
  using Part = detail::PartOfLocalStep<detail::WriteWorkingParameters>;
  const BySegment<MemorySpace, Part> part{rule.segments, {rule.rule_of}, rule.offset};
  for_each_element("kadam::write_working_parameters", exec, static_cast<std::int64_t>(out.extent(0)), part,
                   reads(x), reads(u), reads(v), writes(out));
}

}  // namespace kadam
