// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// out(i) = x(i) - share owed(i): where a rank takes its next gradient, as if part of what it owes had been
/// delivered. Memory: 12 B per element.
template <class Exec, class MemorySpace>
void step_ahead(const Exec& exec, float share, const Kokkos::View<const float*, MemorySpace>& x,
                const Kokkos::View<const float*, MemorySpace>& owed,
                const Kokkos::View<float*, MemorySpace>& out) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::step_ahead", Policy(exec, 0, static_cast<std::int64_t>(out.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { out(i) = x(i) - share * owed(i); });
}

/// The same with two things owed. Memory: 16 B per element.
template <class Exec, class MemorySpace>
void step_ahead(const Exec& exec, float share, const Kokkos::View<const float*, MemorySpace>& x,
                const Kokkos::View<const float*, MemorySpace>& first,
                const Kokkos::View<const float*, MemorySpace>& second,
                const Kokkos::View<float*, MemorySpace>& out) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::step_ahead_of_both", Policy(exec, 0, static_cast<std::int64_t>(out.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { out(i) = x(i) - share * (first(i) + second(i)); });
}

}  // namespace kadam
