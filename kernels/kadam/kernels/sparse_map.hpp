// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// Where the select blocks of a vector lie: in elements, and in the 32-bit words of a sparse message.
///
/// Every block sends the same number of entries (the last one, if shorter, fewer): their values, then their
/// indices inside the block, packed in as few bits as the longest one needs and padded to whole words.
struct SparseMap {
  /// What a block sends.
  struct Shape {
    std::int64_t entries = 0;
    std::int64_t index_bits = 0;

    [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t index_words() const {
      return (entries * index_bits + 31) / 32;
    }
    [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t words() const { return entries + index_words(); }
  };

  struct Block {
    std::int64_t first_element;
    std::int64_t elements;
    std::int64_t first_word;        ///< of the values
    std::int64_t first_index_word;  ///< of the indices
    Shape shape;
  };

  /// One entry of a message.
  struct Entry {
    std::int64_t element;
    float value;
  };

  std::int64_t elements = 0;        ///< of the whole vector
  std::int64_t block_elements = 0;  ///< of a full block
  std::int64_t blocks = 0;
  Shape full;  ///< of every block but the last
  Shape last;

  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t entries() const {
    return blocks == 0 ? 0 : (blocks - 1) * full.entries + last.entries;
  }

  [[nodiscard]] KOKKOS_INLINE_FUNCTION Block block(std::int64_t index) const {
    const std::int64_t first = index * block_elements;
    const std::int64_t word = index * full.words();
    const Shape shape = index + 1 == blocks ? last : full;
    return {first, Kokkos::min(block_elements, elements - first), word, word + shape.entries, shape};
  }

  /// Index of entry `position` inside its block. Shape: words is the message, from its word 0 on.
  template <class WordView>
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t index_at(const Block& block,
                                                                         const WordView& words,
                                                                         std::int64_t offset,
                                                                         std::int64_t position) {
    const std::int64_t bits = block.shape.index_bits;
    const std::int64_t bit = position * bits;
    const std::int64_t word = offset + block.first_index_word + (bit >> 5);
    const auto shift = static_cast<unsigned>(bit & 31);
    std::uint64_t both = 0;
    if (bits > 0) both = words(word);
    if (static_cast<std::int64_t>(shift) + bits > 32) both |= std::uint64_t{words(word + 1)} << 32;
    return static_cast<std::int64_t>((both >> shift) &
                                     ((std::uint64_t{1} << static_cast<unsigned>(bits)) - 1));
  }

  /// visit(index inside the block, value) for all entries of a block: by one thread in order, which reads
  /// each word of the indices once, or by the threads of a team.
  template <class Member, class WordView, class Visit>
  static KOKKOS_FORCEINLINE_FUNCTION void for_each_entry(const Member& member, const Block& block,
                                                         const WordView& words, std::int64_t offset,
                                                         const Visit& visit) {
    const auto value_at = [&](const std::int64_t position) {
      return number_in(words(offset + block.first_word + position));
    };
    if constexpr (Member::is_one_thread) {
      const std::int64_t bits = block.shape.index_bits;
      const std::uint64_t mask = (std::uint64_t{1} << static_cast<unsigned>(bits)) - 1;
      std::int64_t word = offset + block.first_index_word;
      std::uint64_t ahead = 0;
      std::int64_t bits_ahead = 0;
      for (std::int64_t position = 0; position < block.shape.entries; ++position) {
        if (bits_ahead < bits) {
          ahead |= std::uint64_t{words(word++)} << static_cast<unsigned>(bits_ahead);
          bits_ahead += 32;
        }
        visit(static_cast<std::int64_t>(ahead & mask), value_at(position));
        ahead >>= static_cast<unsigned>(bits);
        bits_ahead -= bits;
      }
    } else {
      member.for_each(block.shape.entries, [&](const std::int64_t position) {
        visit(index_at(block, words, offset, position), value_at(position));
      });
    }
  }

  /// Entry `position` of a block. `offset`: the word of the View at which the message starts.
  template <class WordView>
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION Entry entry(const Block& block, const WordView& words,
                                                               std::int64_t offset, std::int64_t position) {
    return {block.first_element + index_at(block, words, offset, position),
            number_in(words(offset + block.first_word + position))};
  }

  /// The block of an entry that is counted through the whole message.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t block_of_entry(std::int64_t number) const {
    return number / full.entries;
  }
};

}  // namespace kadam
