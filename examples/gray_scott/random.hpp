// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Macros.hpp>

#include <cstdint>

/// Random numbers as pure functions of a seed and a counter: there is no state to keep, and hosts and devices
/// draw the same numbers.
namespace gray_scott {

/// 64 random bits: SplitMix64 (Steele, Lea, Flood 2014), twice.
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr std::uint64_t random_bits(std::uint64_t seed,
                                                                         std::uint64_t counter) {
  std::uint64_t z = seed;
  for (int k = 0; k < 2; ++k) {
    z += (k == 0 ? 1 : counter + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    z ^= z >> 31U;
  }
  return z;
}

/// An integer in [0, bound).
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr std::int64_t random_below(std::uint64_t seed,
                                                                         std::uint64_t counter,
                                                                         std::int64_t bound) {
  return static_cast<std::int64_t>(random_bits(seed, counter) % static_cast<std::uint64_t>(bound));
}

/// A number in [0, 1).
[[nodiscard]] constexpr double random_fraction(std::uint64_t seed, std::uint64_t counter) {
  return static_cast<double>(random_bits(seed, counter) >> 11U) * 0x1p-53;
}

/// A number of mean 0 and variance 1: the sum of twelve fractions minus 6, the same on all machines.
[[nodiscard]] constexpr double random_normal(std::uint64_t seed, std::uint64_t counter) {
  double sum = -6.0;
  for (std::uint64_t k = 0; k < 12; ++k) sum += random_fraction(seed, 12 * counter + k);
  return sum;
}

}  // namespace gray_scott
