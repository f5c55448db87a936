// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// out(i) = (1/n) sum_r parts(r stride + i), summed in rank order, for i in [0, elements).
///
/// Memory: 4 (n + 1) B per element.
template <class Exec, class MemorySpace>
void ordered_mean(const Exec& exec, std::int64_t elements, int ranks, std::int64_t stride,
                  const Kokkos::View<const float*, MemorySpace>& parts,
                  const Kokkos::View<float*, MemorySpace>& out) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  const auto inverse = static_cast<float>(1.0 / ranks);
  Kokkos::parallel_for(
      "kadam::ordered_mean", Policy(exec, 0, elements), KOKKOS_LAMBDA(const std::int64_t i) {
        float sum = parts(i);
        for (std::int64_t rank = 1; rank < ranks; ++rank) sum += parts(rank * stride + i);
        out(i) = sum * inverse;
      });
}

}  // namespace kadam
