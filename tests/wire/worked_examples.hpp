// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/block_coder.hpp>
#include <kadam/kernels/top_k.hpp>
#include <kadam/kernels/two_levels.hpp>
#include <kadam/wire/block_message.hpp>
#include <kadam/wire/factor_message.hpp>
#include <kadam/wire/sparse_message.hpp>
#include <support/host_views.hpp>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

/// The messages that docs/wire_format.md shows, as the kernels write them.
namespace kadam::test {

static_assert(std::endian::native == std::endian::little);

/// The bytes of words as they lie in memory, the words of a block together.
inline std::string hex(const Words<MemorySpace>& words, std::size_t words_of_block) {
  const char* const digits = "0123456789abcdef";
  std::string text;
  std::size_t index = 0;
  for (const std::uint32_t word : to_host(words)) {
    if (index > 0) text += index % words_of_block == 0 ? "   " : " ";
    ++index;
    for (unsigned k = 0; k < 4; ++k) {
      const std::uint32_t byte = word >> (8 * k) & 0xFFU;
      text += digits[byte >> 4];
      text += digits[byte & 0xFU];
    }
  }
  return text;
}

/// Of h = (3, -1, 2, -2, 1) in blocks of 4.
template <class Q>
std::string example_of_codes(const Q& quantiser) {
  const BlockMessage message(ChunkLayout(5, 1), 4, Q::bits, Q::has_scale);
  const Words<MemorySpace> words("words", message.total_bytes() / 4);
  const ActiveMask<MemorySpace> all;
  const auto h = to_device<MemorySpace>(std::vector<float>{3.0F, -1.0F, 2.0F, -2.0F, 1.0F});
  encode_accumulated(ExecutionSpace{}, quantiser, message.map(), all, h, words);
  Kokkos::fence();
  return hex(words, 2);
}

/// Of columns (3, -1, 2) and (-2, 1) of factors.
template <class Q>
std::string example_of_factors(const Q& quantiser) {
  const FactorMessage message({3, 2}, 1, Q::bits, Q::has_scale);
  const Words<MemorySpace> words("words", message.total_bytes() / 4);
  const FactorBlocks<MemorySpace> blocks = to_device<MemorySpace>(message.blocks());
  const Kokkos::View<const FactorParts*, MemorySpace> parts =
      to_device<MemorySpace>(std::vector<FactorParts>{{0, 5, 1}, {3, 5, 1}});
  const Kokkos::View<const double*, MemorySpace> sums =
      to_device<MemorySpace>(std::vector<double>{3.0, -1.0, 2.0, -2.0, 1.0});
  encode_factors(ExecutionSpace{}, quantiser, blocks, parts, sums, Vector<float>("values", 5), words);
  Kokkos::fence();
  return hex(words, Q::has_scale ? 2 : 3);
}

/// Of two blocks of 4 elements, the two largest entries of each.
inline std::string example_of_largest_entries() {
  const SparseMessage message(8, 4, 0.5);
  const Words<MemorySpace> words("words", message.total_bytes() / 4);
  const auto e = to_device<MemorySpace>(std::vector<float>{0.1F, -3.0F, 2.0F, 0.5F, 1.0F, 0.0F, 0.0F, -4.0F});
  select_top_k(ExecutionSpace{}, message.map(), e, Selected::stays, words);
  Kokkos::fence();
  return hex(words, 3);
}

/// The same with two levels.
inline std::string example_of_two_levels() {
  const SparseMessage exact(8, 4, 0.5);
  const SparseMessage message(8, 4, 0.5, SparseValues::two_levels);
  const Words<MemorySpace> selected("selected", exact.total_bytes() / 4);
  const Words<MemorySpace> words("words", message.total_bytes() / 4);
  const auto e = to_device<MemorySpace>(std::vector<float>{0.1F, -3.0F, 2.0F, 0.5F, 1.0F, 0.0F, 0.0F, -4.0F});
  select_top_k(ExecutionSpace{}, exact.map(), e, Selected::stays, selected);
  encode_two_levels<ExecutionSpace, MemorySpace>(ExecutionSpace{}, exact.map(), selected, message.map(),
                                                 reinterpret_cast<std::uint8_t*>(words.data()), e);
  Kokkos::fence();
  return hex(words, 3);
}

}  // namespace kadam::test
