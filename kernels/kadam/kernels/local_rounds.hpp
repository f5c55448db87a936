// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/kernels/segments.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// Kernels of optimizers whose ranks step alone between rounds: the parameters at which a rank works, and the
/// outer step of a round.
namespace kadam {

/// out <- decay x - step u, or out <- decay x - step u - ahead owed: the parameters at which a rank works.
///
/// decay = 1 - lambda Gamma, where Gamma is the sum of the learning rates since the last round that x
/// contains; u: the sum of the rank's steps since the last round; owed: older steps that x does not contain
/// yet, which are the rank's errors or its steps in a round in flight.
struct DecayedParameters {
  float decay = 1.0F;
  float step = 1.0F;   ///< factor on u; the outer learning rate eta where u is a mean over ranks
  float ahead = 0.0F;  ///< factor on owed

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float& x, const float& u, float& out) const {
    out = decay * x - step * u;
  }
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float& x, const float& u, const float& owed,
                                              float& out) const {
    out = decay * x - step * u - ahead * owed;
  }
};

/// Returns 1 - lambda Gamma of a segment. gamma_sum: Gamma before the segment's factor.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float decay_over(double gamma_sum, const SegmentFactors& factors) {
  return static_cast<float>(1.0 - gamma_sum * factors.lr_scale * factors.weight_decay);
}

/// Makes the DecayedParameters of a segment.
struct DecayedParametersOf {
  double gamma_sum = 0.0;  ///< Gamma, before the segment's factor
  float step = 1.0F;
  float ahead = 0.0F;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION DecayedParameters
  operator()(std::int64_t /*segment*/, const SegmentFactors& factors) const {
    return {decay_over(gamma_sum, factors), step, ahead};
  }
};

/// out <- (1 - lambda Gamma) x - step u. out may be u. Memory: 12 B per element.
template <class Exec, class MemorySpace>
void write_local_parameters(const Exec& exec, const BySegment<MemorySpace, DecayedParametersOf>& rule,
                            const Kokkos::View<const float*, MemorySpace>& x,
                            const Kokkos::View<const float*, MemorySpace>& u,
                            const Kokkos::View<float*, MemorySpace>& out) {
  for_each_element("kadam::write_local_parameters", exec, static_cast<std::int64_t>(out.extent(0)), rule,
                   reads(x), reads(u), writes(out));
}

/// out <- (1 - lambda Gamma) x - step u - ahead owed. Memory: 16 B per element. owed: see DecayedParameters.
template <class Exec, class MemorySpace>
void write_local_parameters_ahead(const Exec& exec, const BySegment<MemorySpace, DecayedParametersOf>& rule,
                                  const Kokkos::View<const float*, MemorySpace>& x,
                                  const Kokkos::View<const float*, MemorySpace>& u,
                                  const Kokkos::View<const float*, MemorySpace>& owed,
                                  const Kokkos::View<float*, MemorySpace>& out) {
  for_each_element("kadam::write_local_parameters_ahead", exec, static_cast<std::int64_t>(out.extent(0)),
                   rule, reads(x), reads(u), reads(owed), writes(out));
}

/// Factors of an outer step.
struct OuterFactors {
  float decay = 1.0F;     ///< 1 - lambda Gamma
  float lr = 1.0F;        ///< eta
  float momentum = 0.0F;  ///< mu
};

/// Makes the OuterFactors of a segment.
struct OuterFactorsOf {
  double gamma_sum = 0.0;  ///< Gamma, before the segment's factor
  float lr = 1.0F;
  float momentum = 0.0F;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION OuterFactors operator()(std::int64_t /*segment*/,
                                                                    const SegmentFactors& factors) const {
    return {decay_over(gamma_sum, factors), lr, momentum};
  }
};

/// The outer step of a round, from r, the mean over ranks of the sums u of their steps:
///
///   o <- mu o + r;  x <- (1 - lambda Gamma) x - eta (r + mu o);  u <- 0        mu = 0: no o, eta r
///
/// x is updated with the new o, and written into `parameters` too. An update for UpdateBySegment, with the
/// OuterFactors of the segment: they are no members, because a store to a float might change a float member,
/// and the loop would not be vectorised. Memory: reads x and o, writes x, o, u and parameters: 24 B per
/// element, 16 B where mu = 0.
template <class MemorySpace>
struct OuterStep {
  Kokkos::View<float*, MemorySpace> x;
  Kokkos::View<float*, MemorySpace> o;  ///< empty where mu = 0
  Kokkos::View<float*, MemorySpace> u;
  Kokkos::View<float*, MemorySpace> parameters;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float r,
                                              const OuterFactors& factors) const {
    const float outer = outer_momentum(i, r, factors);
    if (factors.momentum > 0.0F) o(i) = outer;
    const float next = next_x(i, r, outer, factors);
    x(i) = next;
    u(i) = 0.0F;
    parameters(i) = next;
  }

  /// o of element i after the step.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float outer_momentum(const std::int64_t i, const float r,
                                                                 const OuterFactors& factors) const {
    return factors.momentum > 0.0F ? flush_to_zero(factors.momentum * o(i) + r) : 0.0F;
  }
  /// x of element i after the step.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float next_x(const std::int64_t i, const float r,
                                                         const float outer,
                                                         const OuterFactors& factors) const {
    return factors.decay * x(i) - factors.lr * (r + factors.momentum * outer);
  }
};

/// Factors while a round is in flight.
struct InFlightFactors {
  OuterFactors outer;  ///< of the round; its decay is that of the steps that it has sent
  float since = 1.0F;  ///< 1 - lambda Gamma of the steps since then
};

/// Makes the InFlightFactors of a segment.
struct InFlightFactorsOf {
  OuterFactorsOf outer;
  double gamma_since = 0.0;  ///< Gamma of the steps since then, before the segment's factor

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION InFlightFactors operator()(std::int64_t segment,
                                                                       const SegmentFactors& factors) const {
    return {outer(segment, factors), decay_over(gamma_since, factors)};
  }
};

/// Writes to `out` the x that the outer step of a round in flight will give, moved on by a further step
/// `more`. Changes nothing but out, which may be `more`:
///
///   out <- (1 - lambda Gamma) (x after the outer step) - eta more        Gamma: of the steps since the round
template <class MemorySpace>
struct AfterOuterStep {
  OuterStep<MemorySpace> outer;
  Kokkos::View<const float*, MemorySpace> more;
  Kokkos::View<float*, MemorySpace> out;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float r,
                                              const InFlightFactors& factors) const {
    const float next = outer.next_x(i, r, outer.outer_momentum(i, r, factors.outer), factors.outer);
    out(i) = factors.since * next - factors.outer.lr * more(i);
  }
};

}  // namespace kadam
