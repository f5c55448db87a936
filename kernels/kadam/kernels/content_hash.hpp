// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {
namespace detail {

/// Adds a hash of an element's bits and its number (the finaliser of SplitMix64) to the sum. The sum depends
/// on which value is where, but not on the order of addition.
template <class MemorySpace>
struct HashElement {
  Kokkos::View<const float*, MemorySpace> values;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, std::uint64_t& sum) const {
    std::uint64_t bits = Kokkos::bit_cast<std::uint32_t>(values(i));
    bits += static_cast<std::uint64_t>(i + 1) * 0x9E3779B97F4A7C15U;
    bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
    sum += bits ^ (bits >> 31U);
  }
};

}  // namespace detail

/// Returns a hash of the values' bits. Equal bits give the same hash with any number of threads; other bits
/// give another hash, except with a probability of about 2^-64. Waits for exec.
///
/// Memory: 4 B per element.
template <class Exec, class MemorySpace>
[[nodiscard]] std::uint64_t content_hash(const Exec& exec,
                                         const Kokkos::View<const float*, MemorySpace>& values) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  std::uint64_t sum = 0;
  Kokkos::parallel_reduce("kadam::content_hash", Policy(exec, 0, static_cast<std::int64_t>(values.extent(0))),
                          detail::HashElement<MemorySpace>{values}, sum);
  return sum;
}

}  // namespace kadam
