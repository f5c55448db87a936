// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace kadam::workloads {

/// The `counter`-th 64 random bits of stream `seed`: SplitMix64 (Steele, Lea, Flood 2014), twice, so that
/// neighbouring seeds give unrelated streams. A pure function, the same on every machine.
[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  const auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  };
  constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15ULL;
  return mix(mix(seed + golden_gamma) + (counter + 1) * golden_gamma);
}

/// A number of mean 0 and variance 1 within ±6: the sum of twelve 16-bit uniforms. Unlike a logarithm and a
/// cosine this is exact integer arithmetic, so all machines start from the same parameters.
[[nodiscard]] constexpr double random_normal(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t sum = 0;
  for (std::uint64_t word = 0; word < 3; ++word) {
    const std::uint64_t bits = random_bits(seed, 3 * counter + word);
    sum += (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
  }
  return (static_cast<double>(sum) + 6.0) / 65536.0 - 6.0;
}

/// An integer in [0, bound), each equally likely. Advances `counter` by the numbers used: one, rarely more.
[[nodiscard]] constexpr std::uint64_t random_below(std::uint64_t seed, std::uint64_t& counter,
                                                   std::uint64_t bound) {
  const std::uint64_t unfair = (0 - bound) % bound;  // 2^64 mod bound
  std::uint64_t bits = random_bits(seed, counter++);
  while (bits < unfair) {
    bits = random_bits(seed, counter++);
  }
  return bits % bound;
}

/// Fisher and Yates' shuffle (Durstenfeld 1964), a pure function of `stream` and the former order.
template <class T>
void shuffle(std::span<T> values, std::uint64_t stream) {
  std::uint64_t counter = 0;
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random_below(stream, counter, i)]);
  }
}

}  // namespace kadam::workloads
