// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/active_mask.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// Folds the bias corrections into the moments, once: m <- m inverse_c1 (0 where v = 0), v <- v inverse_c2.
/// Memory: reads and writes m, v: 16 B per element.
template <class Exec, class MemorySpace>
void fold_corrections(const Exec& exec, float inverse_c1, float inverse_c2,
                      const Kokkos::View<float*, MemorySpace>& m,
                      const Kokkos::View<float*, MemorySpace>& v) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::fold_corrections", Policy(exec, 0, static_cast<std::int64_t>(v.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        m(i) = v(i) > 0.0F ? m(i) * inverse_c1 : 0.0F;
        v(i) *= inverse_c2;
      });
}

/// Coordinates without variance. Waits for exec.
template <class Exec, class MemorySpace>
[[nodiscard]] std::int64_t count_zeros(const Exec& exec, const Kokkos::View<float*, MemorySpace>& v) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  std::int64_t zeros = 0;
  Kokkos::parallel_reduce(
      "kadam::count_zeros", Policy(exec, 0, static_cast<std::int64_t>(v.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& count) { count += v(i) > 0.0F ? 0 : 1; }, zeros);
  return zeros;
}

}  // namespace kadam
