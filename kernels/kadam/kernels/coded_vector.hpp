// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/quantiser.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// A vector that is kept as the message it came in: bits/8 bytes per element and a scale per block.
///
/// For kernels that walk over tensors, which begin anywhere in a block. A kernel that walks over blocks takes
/// decode_and_apply(), which finds its place once per block.
template <Quantiser Q, class MemorySpace>
struct CodedVector {
  Q quantiser;
  BlockMap map;
  ConstWords<MemorySpace> message;  ///< of all chunks, one behind the other

  /// The number of elements in front of its output that decode() may overwrite.
  static constexpr std::int64_t lead = detail::elements_per_word<Q> - 1;

  /// The part of the vector that lies in one block.
  struct Part {
    Q quantiser;
    std::int64_t first_element;  ///< of the block
    float scale;
    const std::uint32_t* words;  ///< of the block
    /// Element i of the vector, which lies in this block.
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator()(std::int64_t i) const {
      return detail::value_at(quantiser, words, i - first_element, scale);
    }
  };
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Part part(const BlockMap::Block& block) const {
    return {quantiser, block.first_element, detail::scale_in<Q>(message, block.scale_word),
            &message(block.first_word)};
  }

  /// Element i. Looks up its block: for single elements.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator()(std::int64_t i) const {
    return part(map.block(map.block_of(i)))(i);
  }

  /// Calls visit(block, first, last) for the elements [first, last) of [begin, end) in each block.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_block_in(std::int64_t begin, std::int64_t end,
                                                     const Visit& visit) const {
    for (std::int64_t first = begin; first < end;) {
      const BlockMap::Block block = map.block(map.block_of(first));
      const std::int64_t last = Kokkos::min(end, block.first_element + block.elements);
      visit(block, first, last);
      first = last;
    }
  }

  /// Writes factor times element begin + k to out[k] for k < end - begin, and anything to the `lead` elements
  /// before out. One thread calls it; for codes of 1 bit the loop is vectorised.
  KOKKOS_FORCEINLINE_FUNCTION void decode(const detail::HostBlockMember& member, std::int64_t begin,
                                          std::int64_t end, float factor, float* out) const {
    if (begin >= end) return;
    constexpr std::int64_t width = detail::elements_per_word<Q>;
    // Only the first block may begin inside a word: it writes up to `lead` elements before out.
    const std::int64_t last_block = map.block_of(end - 1);
    for (std::int64_t index = map.block_of(begin); index <= last_block; ++index) {
      const BlockMap::Block block = map.block(index);
      const std::int64_t first = Kokkos::max(begin - block.first_element, std::int64_t{0}) / width * width;
      const std::int64_t last = Kokkos::min(end - block.first_element, block.elements);
      float* const from_word = out + (block.first_element + first - begin);
      const Part said = part(block);
      detail::for_each_value_of_words(
          member, quantiser, said.words + first / width, last - first, said.scale,
          [from_word, factor](const std::int64_t k, const float value) { from_word[k] = factor * value; });
    }
  }
};

}  // namespace kadam
