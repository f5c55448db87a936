// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/backend.hpp>
#include <kadam/kernels/number_format.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// Returns 32 evenly distributed bits, a hash of `number` alone: every thread gets the same (Wellons'
/// lowbias32). Worked number: 0 for 0, 0x688990c0 for 1.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::uint32_t scattered(std::uint32_t number) {
  number ^= number >> 16U;
  number *= 0x7feb352dU;
  number ^= number >> 15U;
  number *= 0x846ca68bU;
  return number ^ (number >> 16U);
}

/// Errors of an encoder in bf16 in place of float32: 2 B per element. New errors are rounded by chance
/// (round_by_chance()). Rounding to the nearest would lose, step after step, every change that is small
/// beside its error; rounding by chance loses nothing in the mean.
///
/// The random bits are a function of `rounding`, the block's first element and the place in the block. Every
/// exchange passes another `rounding`: the same one would give the same random bits again. The first
/// bits of a block are hashed; the next ones follow in steps of the golden ratio, which costs one addition
/// and is even within a block too. Two elements of a block, 16 apart, share 32 bits.
template <class MemorySpace>
struct Bfloat16Errors {
  /// Elements that a block may have, which no kernel checks: it waits as float32 for its scale, in an array
  /// in a thread's innermost cache or in a team's registers.
  static constexpr std::int64_t longest_block = 2048;

  Kokkos::View<Bfloat16*, MemorySpace> values;
  std::uint32_t rounding = 0;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION const Bfloat16* data() const { return values.data(); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator()(const std::int64_t i) const {
    return to_float(values(i));
  }
  /// Error of element k of the block <- value, rounded by chance.
  KOKKOS_FORCEINLINE_FUNCTION void put(const BlockMap::Block& block, const std::int64_t k,
                                       const float value) const {
    const std::uint32_t pair = first_pair(block) + pair_step * number_of_pair(k);
    values(block.first_element + k) = round_by_chance(value, (k & 16) == 0 ? pair & 0xffffU : pair >> 16U);
  }

  /// h <- the errors of the block, in float32; one thread does it.
  KOKKOS_FORCEINLINE_FUNCTION void read(const BlockMap::Block& block, float* KOKKOS_RESTRICT h) const {
    const Bfloat16* const of_block = values.data() + block.first_element;
    KADAM_SIMD
    for (std::int64_t k = 0; k < block.elements; ++k) h[k] = to_float(of_block[k]);
  }
  /// The errors of the block <- h, rounded by chance; one thread does it.
  KOKKOS_FORCEINLINE_FUNCTION void write(const BlockMap::Block& block, const float* KOKKOS_RESTRICT h) const {
    Bfloat16* const of_block = values.data() + block.first_element;
    const std::uint32_t first = first_pair(block);
    std::int64_t begin = 0;
    for (; begin + 32 <= block.elements; begin += 32) {
      const std::uint32_t pairs = first + pair_step * number_of_pair(begin);
      KADAM_SIMD
      for (std::uint32_t lane = 0; lane < 16U; ++lane) {
        const std::uint32_t pair = pairs + pair_step * lane;
        of_block[begin + lane] = round_by_chance(h[begin + lane], pair & 0xffffU);
        of_block[begin + 16 + lane] = round_by_chance(h[begin + 16 + lane], pair >> 16U);
      }
    }
    for (; begin < block.elements; ++begin) put(block, begin, h[begin]);
  }

 private:
  static constexpr std::uint32_t pair_step = 0x9e3779b9U;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::uint32_t first_pair(const BlockMap::Block& block) const {
    const auto first = static_cast<std::uint64_t>(block.first_element);
    const auto low = static_cast<std::uint32_t>(first);
    const auto high = static_cast<std::uint32_t>(first >> 32U);
    return scattered(low ^ scattered(high ^ scattered(rounding)));
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static std::uint32_t number_of_pair(std::int64_t k) {
    return static_cast<std::uint32_t>((k / 32) * 16 + k % 16);
  }
};

}  // namespace kadam
