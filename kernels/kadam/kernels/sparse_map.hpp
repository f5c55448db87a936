// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// The form of the values in a sparse message: exact float32, or one of the block's two magnitudes with a
/// sign.
enum class SparseValues : std::uint8_t { exact, two_levels };

/// The places of the select blocks of a vector: in elements, and in the bytes of a sparse message.
///
/// Every block sends the same number of entries; the last block, if shorter, may send fewer. With exact
/// values a block is the float32 values of its entries, then their indices inside the block, each in as few
/// bits as the largest index needs, padded to whole words. With two levels a block is the lower and the
/// higher magnitude as float32, then 14 bits for each entry, padded to a byte. From the lowest bit on these
/// are: 12 bits of index, a bit for a negative value, a bit for the higher magnitude.
struct SparseMap {
  /// Bits of an entry with two levels, and how many of them are its index: a block has at most 4096 elements.
  static constexpr std::int64_t level_entry_bits = 14;
  static constexpr std::int64_t level_index_bits = 12;
  /// Bytes of the two magnitudes.
  static constexpr std::int64_t level_bytes = 8;

  /// The number of entries that a block sends, and their form.
  struct Shape {
    std::int64_t entries = 0;
    std::int64_t index_bits = 0;
    SparseValues values = SparseValues::exact;

    /// Words of the packed indices; with exact values only.
    [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t index_words() const {
      return (entries * index_bits + 31) / 32;
    }
    [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t bytes() const {
      constexpr std::int64_t bits = level_entry_bits;
      constexpr std::int64_t magnitudes = level_bytes;
      return values == SparseValues::exact ? 4 * (entries + index_words())
                                           : magnitudes + (entries * bits + 7) / 8;
    }
  };

  struct Block {
    std::int64_t first_element;
    std::int64_t elements;
    std::int64_t first_byte;
    Shape shape;

    /// The first word of the values, and of the indices; with exact values only.
    [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t first_word() const { return first_byte / 4; }
    [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t first_index_word() const {
      return first_word() + shape.entries;
    }
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
    const Shape shape = index + 1 == blocks ? last : full;
    return {first, Kokkos::min(block_elements, elements - first), index * full.bytes(), shape};
  }

  /// Index, inside its block, of entry `position` of a block with exact values. offset: the byte of `words`
  /// at which the message starts, a multiple of 4.
  template <class WordView>
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t index_at(const Block& block,
                                                                         const WordView& words,
                                                                         std::int64_t offset,
                                                                         std::int64_t position) {
    const std::int64_t bits = block.shape.index_bits;
    const std::int64_t bit = position * bits;
    const std::int64_t word = offset / 4 + block.first_index_word() + (bit >> 5);
    const auto shift = static_cast<unsigned>(bit & 31);
    std::uint64_t both = 0;
    if (bits > 0) both = words(word);
    if (static_cast<std::int64_t>(shift) + bits > 32) both |= std::uint64_t{words(word + 1)} << 32;
    return static_cast<std::int64_t>((both >> shift) &
                                     ((std::uint64_t{1} << static_cast<unsigned>(bits)) - 1));
  }

  /// Calls visit(index inside the block, value) for all entries of a block: by one thread in order, which
  /// reads each word of the indices once, or by the threads of a team at the same time. offset: the byte of
  /// `words` at which the message starts.
  template <class Member, class WordView, class Visit>
  static KOKKOS_FORCEINLINE_FUNCTION void for_each_entry(const Member& member, const Block& block,
                                                         const WordView& words, std::int64_t offset,
                                                         const Visit& visit) {
    if (block.shape.values == SparseValues::two_levels) {
      const Levels levels(block, words, offset);
      member.for_each(block.shape.entries, [&](const std::int64_t position) {
        const std::uint32_t entry = levels.entry(position);
        visit(Levels::index(entry), levels.value(entry));
      });
      return;
    }
    const std::int64_t first_word = offset / 4 + block.first_word();
    const auto value_at = [&](const std::int64_t position) {
      return number_in(words(first_word + position));
    };
    if constexpr (Member::is_one_thread) {
      const std::int64_t bits = block.shape.index_bits;
      const std::uint64_t mask = (std::uint64_t{1} << static_cast<unsigned>(bits)) - 1;
      std::int64_t word = offset / 4 + block.first_index_word();
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

  /// Entry `position` of a block. offset: the byte of `words` at which the message starts.
  template <class WordView>
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION Entry entry(const Block& block, const WordView& words,
                                                               std::int64_t offset, std::int64_t position) {
    if (block.shape.values == SparseValues::two_levels) {
      const Levels levels(block, words, offset);
      const std::uint32_t entry = levels.entry(position);
      return {block.first_element + Levels::index(entry), levels.value(entry)};
    }
    return {block.first_element + index_at(block, words, offset, position),
            number_in(words(offset / 4 + block.first_word() + position))};
  }

  /// The block of an entry; number: that of the entry among all entries of the message.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t block_of_entry(std::int64_t number) const {
    return number / full.entries;
  }

 private:
  /// Reads a block with two levels, byte by byte: it begins at any byte, so a word may reach into a
  /// neighbouring block, which may still be on its way.
  class Levels {
   public:
    template <class WordView>
    KOKKOS_FORCEINLINE_FUNCTION Levels(const Block& block, const WordView& words, std::int64_t offset)
        : bytes_(reinterpret_cast<const std::uint8_t*>(words.data()) + offset + block.first_byte),
          low_(number_in(word(bytes_))),
          high_(number_in(word(bytes_ + 4))) {}

    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::uint32_t entry(std::int64_t position) const {
      constexpr std::int64_t bits = level_entry_bits;
      const std::int64_t bit = position * bits;
      const std::uint8_t* const first = bytes_ + level_bytes + bit / 8;
      const auto shift = static_cast<unsigned>(bit % 8);
      std::uint32_t taken = first[0] | std::uint32_t{first[1]} << 8U;
      if (shift > 2) taken |= std::uint32_t{first[2]} << 16U;
      return taken >> shift & ((1U << static_cast<unsigned>(bits)) - 1U);
    }
    [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t index(std::uint32_t entry) {
      return entry & ((1U << static_cast<unsigned>(level_index_bits)) - 1U);
    }
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float value(std::uint32_t entry) const {
      constexpr auto sign = static_cast<unsigned>(level_index_bits);
      const float magnitude = (entry >> (sign + 1U)) != 0 ? high_ : low_;
      return (entry >> sign & 1U) != 0 ? -magnitude : magnitude;
    }

   private:
    [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::uint32_t word(const std::uint8_t* bytes) {
      return bytes[0] | std::uint32_t{bytes[1]} << 8U | std::uint32_t{bytes[2]} << 16U |
             std::uint32_t{bytes[3]} << 24U;
    }

    const std::uint8_t* bytes_;
    float low_;
    float high_;
  };
};

}  // namespace kadam
