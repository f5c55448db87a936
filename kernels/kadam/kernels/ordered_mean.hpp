// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/number_format.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace kadam {

/// out[i] = (1/n) sum_r parts[r stride + i], summed in rank order in float32 and rounded once to the format
/// of the parts: one element of ordered_mean(). Called by a plain loop where no execution space is to be had.
template <Number T>
struct OrderedMeanOfElement {
  const T* parts;
  T* out;
  std::int64_t ranks;
  std::int64_t stride;
  float inverse_ranks;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i) const {
    float sum = to_float(parts[i]);
    for (std::int64_t rank = 1; rank < ranks; ++rank) sum += to_float(parts[rank * stride + i]);
    out[i] = round_to<T>(sum * inverse_ranks);
  }
};

/// The same for i in [0, elements).
///
/// Memory: 4 (n + 1) B per element, half of that in 16 bits.
template <class Exec, class MemorySpace, Number T>
void ordered_mean(const Exec& exec, std::int64_t elements, int ranks, std::int64_t stride,
                  const std::type_identity_t<Kokkos::View<const T*, MemorySpace>>& parts,
                  const Kokkos::View<T*, MemorySpace>& out) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  const auto inverse = static_cast<float>(1.0 / ranks);
  Kokkos::parallel_for("kadam::ordered_mean", Policy(exec, 0, elements),
                       OrderedMeanOfElement<T>{parts.data(), out.data(), ranks, stride, inverse});
}

}  // namespace kadam
