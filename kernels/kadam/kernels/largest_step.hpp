// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// The largest of some values, and the number of the first element that has it; -1 if there are no elements.
struct LargestValue {
  float value = 0.0F;
  std::int64_t index = -1;
};

namespace detail {

/// Of equal steps takes the first, so that ranks with other numbers of threads name the same tensor.
template <class MemorySpace, class Best>
struct FindLargestStep {
  Kokkos::View<const float*, MemorySpace> m;
  Kokkos::View<const float*, MemorySpace> v;
  float inverse_c2;
  float eps;

  KOKKOS_FUNCTION void operator()(const std::int64_t i, Best& best) const {
    float step = 0.0F;
    if (v(i) > 0.0F) step = Kokkos::fabs(m(i)) / (Kokkos::sqrt(v(i) * inverse_c2) + eps);
    if (!Kokkos::isfinite(step)) step = Kokkos::Experimental::infinity_v<float>;
    if (step > best.val || (step == best.val && i < best.loc)) {
      best.val = step;
      best.loc = i;
    }
  }
};

}  // namespace detail

/// Returns the largest |m| / (sqrt(v inverse_c2) + eps) of all elements; an element without v > 0 counts as
/// 0. It is the longest step of Adam without bias correction of m, divided by the learning rate. Infinite
/// if one of these is not finite, as where m is NaN. Waits for exec. Memory: 8 B per element. Worked number:
/// m = (1, 2), v = (1, 1e-6), eps = 0, inverse_c2 = 1: 2000, element 1.
template <class Exec, class MemorySpace>
[[nodiscard]] LargestValue largest_step(const Exec& exec, float inverse_c2, float eps,
                                        const Kokkos::View<const float*, MemorySpace>& m,
                                        const Kokkos::View<const float*, MemorySpace>& v) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  using Largest = Kokkos::MaxFirstLoc<float, std::int64_t, Kokkos::HostSpace>;
  const auto elements = static_cast<std::int64_t>(m.extent(0));
  if (elements == 0) return {};
  typename Largest::value_type largest;
  using Find = detail::FindLargestStep<MemorySpace, typename Largest::value_type>;
  Kokkos::parallel_reduce("kadam::largest_step", Policy(exec, 0, elements), Find{m, v, inverse_c2, eps},
                          Largest(largest));
  return {largest.val, largest.loc};
}

}  // namespace kadam
