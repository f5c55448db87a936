// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

namespace detail {

template <class MemorySpace>
struct ApplyDelayedMean {
  float kept;
  Kokkos::View<const float*, MemorySpace> mean;
  Kokkos::View<const float*, MemorySpace> then;
  Kokkos::View<float*, MemorySpace> v;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const float moved = v(i) + kept * (mean(i) - then(i));
    v(i) = moved > 0.0F ? moved : 0.0F;
  }
};

}  // namespace detail

/// v(i) <- max(0, v(i) + kept (mean(i) - then(i))): gives v the value that it would have now if it had been
/// `mean` some steps ago, when it was `then`. kept: the part of that old v that is left in v, beta2^k after k
/// steps. Memory: 16 B per element.
template <class Exec, class MemorySpace>
void apply_delayed_mean(const Exec& exec, float kept, const Kokkos::View<const float*, MemorySpace>& mean,
                        const Kokkos::View<const float*, MemorySpace>& then,
                        const Kokkos::View<float*, MemorySpace>& v) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("kadam::apply_delayed_mean", Policy(exec, 0, static_cast<std::int64_t>(v.extent(0))),
                       detail::ApplyDelayedMean<MemorySpace>{kept, mean, then, v});
}

}  // namespace kadam
