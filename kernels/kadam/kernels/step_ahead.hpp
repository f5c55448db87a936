// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/element_loop.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {
namespace detail {

/// out = x - share times one owed number, or the sum of two.
struct StepAhead {
  float share;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float& x, const float& owed, float& out) const {
    out = x - share * owed;
  }
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float& x, const float& first, const float& second,
                                              float& out) const {
    out = x - share * (first + second);
  }
};

}  // namespace detail

/// out(i) = x(i) - share owed(i): the point at which a rank takes its next gradient, as if this share of the
/// steps that it owes had been delivered. out may be x. Memory: 12 B per element.
template <class Exec, class MemorySpace>
void step_ahead(const Exec& exec, float share, const Kokkos::View<const float*, MemorySpace>& x,
                const Kokkos::View<const float*, MemorySpace>& owed,
                const Kokkos::View<float*, MemorySpace>& out) {
  for_each_element("kadam::step_ahead", exec, static_cast<std::int64_t>(out.extent(0)),
                   detail::StepAhead{share}, reads(x), reads(owed), writes(out));
}

/// out(i) = x(i) - share (first(i) + second(i)): the same where two vectors are owed. Memory: 16 B per
/// element.
template <class Exec, class MemorySpace>
void step_ahead(const Exec& exec, float share, const Kokkos::View<const float*, MemorySpace>& x,
                const Kokkos::View<const float*, MemorySpace>& first,
                const Kokkos::View<const float*, MemorySpace>& second,
                const Kokkos::View<float*, MemorySpace>& out) {
  for_each_element("kadam::step_ahead_of_both", exec, static_cast<std::int64_t>(out.extent(0)),
                   detail::StepAhead{share}, reads(x), reads(first), reads(second), writes(out));
}

}  // namespace kadam
