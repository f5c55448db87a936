// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/code_word.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// One bit per coordinate (element of the vector): 1 where it takes part in compression.
///
/// Coordinates without variance cannot be sent as a sign and cannot be divided by their variance; they are
/// *inactive*. An inactive coordinate keeps its place in a message, but its code means nothing: it does not
/// count in the scale, its error becomes 0, and decoding gives it no value: it calls the update's inactive(),
/// if there is one.
/// An empty mask means that all coordinates are active. Memory: d/8 bytes.
template <class MemorySpace>
struct ActiveMask {
  Kokkos::View<const std::uint32_t*, MemorySpace> words;
  std::int64_t offset = 0;  ///< element of the mask that is this vector's element 0

  /// Words that a mask over `elements` elements needs: at least one more than the bits fill, because word()
  /// also reads the word behind.
  static std::int64_t words_for(std::int64_t elements) { return elements / 32 + 2; }

  [[nodiscard]] KOKKOS_INLINE_FUNCTION bool all_active() const { return words.extent(0) == 0; }

  /// Bits of the elements [first, first + 32), which need not begin at a word: bit k is element first + k.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint32_t word(std::int64_t first) const {
    if (all_active()) return ~std::uint32_t{0};
    const std::int64_t bit = offset + first;
    const auto shift = static_cast<unsigned>(bit & 31);
    const std::uint32_t low = words(bit >> 5) >> shift;
    return shift == 0 ? low : low | (words((bit >> 5) + 1) << (32 - shift));
  }

  [[nodiscard]] KOKKOS_INLINE_FUNCTION bool operator()(std::int64_t element) const {
    return (word(element) & 1U) != 0;
  }

  /// Whether all elements in [first, first + count) are active.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION bool all_active_in(std::int64_t first, std::int64_t count) const {
    if (all_active()) return true;
    std::uint32_t inactive = 0;
    std::int64_t k = 0;
    for (; k + 32 <= count; k += 32) inactive |= ~word(first + k);
    if (k < count) inactive |= ~word(first + k) & ((1U << static_cast<unsigned>(count - k)) - 1U);
    return inactive == 0;
  }

  /// Number of consecutive elements from `first` on, at most `limit`, that are active if `first` is, and
  /// inactive if it is not.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t run_from(std::int64_t first, std::int64_t limit) const {
    const std::uint32_t as_first = (*this)(first) ? ~std::uint32_t{0} : 0U;
    std::int64_t length = 0;
    for (int alike = 32; alike == 32 && length < limit; length += alike) {
      alike = Kokkos::countr_zero(word(first + length) ^ as_first);
    }
    return Kokkos::min(length, limit);
  }
};

namespace detail {

template <class Mask, class Predicate>
struct FillActiveMask {
  Mask mask;
  Predicate active;
  std::int64_t elements;
  KOKKOS_FUNCTION void operator()(const std::int64_t w) const {
    std::uint32_t word = 0;
    with_count<32>(elements - 32 * w, [&](const std::int64_t count) {
      for (std::int64_t bit = 0; bit < count; ++bit) {
        word |= (active(32 * w + bit) ? 1U : 0U) << static_cast<unsigned>(bit);
      }
    });
    mask(w) = word;
  }
};

/// Packs words of the mask by teams: neighbouring threads evaluate `active` for neighbouring elements and
/// write a byte for each to memory of the team, from which the team packs words.
template <class Mask, class Predicate>
struct FillActiveMaskOfTile {
  static constexpr std::int64_t tile_words = 128;  ///< words that a team packs: one for each of its threads

  Mask mask;
  Predicate active;
  std::int64_t elements;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t tile) const {
    constexpr std::int64_t at_a_time = tile_words;
    auto* const is_active = member.template scratch<std::uint8_t>(word_bytes * at_a_time);
    const std::int64_t first = tile * at_a_time;
    const std::int64_t words = Kokkos::min(at_a_time, static_cast<std::int64_t>(mask.extent(0)) - first);
    member.for_each_loaded(
        0, 32 * words,
        [&](const std::int64_t k) {
          const std::int64_t element = 32 * first + k;
          return element < elements && active(element);
        },
        [&](const std::int64_t k, const bool own) {
          is_active[place_of(k)] = static_cast<std::uint8_t>(own);
        });
    member.barrier();
    member.for_each(words, [&](const std::int64_t w) {
      const auto* const fours = reinterpret_cast<const std::uint32_t*>(is_active + word_bytes * w);
      std::uint32_t word = 0;
      KADAM_UNROLL
      for (unsigned four = 0; four < 8; ++four) word |= bits_of_bytes(fours[four]) << (4U * four);
      mask(first + w) = word;
    });
  }

  [[nodiscard]] static int scratch_bytes(int /*threads*/) {
    return static_cast<int>(word_bytes * tile_words) + 8;
  }

 private:
  /// Bytes in memory of the team for the 32 elements of a word: four more than needed, because threads that
  /// pack neighbouring words would otherwise all read from a few banks.
  static constexpr std::int64_t word_bytes = 36;
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t place_of(std::int64_t k) {
    return k + k / 32 * (word_bytes - 32);
  }
  /// Packs the lowest bits of four bytes into the lowest four bits.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::uint32_t bits_of_bytes(std::uint32_t bytes) {
    return (bytes | bytes >> 7U | bytes >> 14U | bytes >> 21U) & 15U;
  }
};

}  // namespace detail

/// Bit i of the mask <- active(i), for every element i in [0, elements).
/// Shape: mask has ActiveMask::words_for(elements) words; bits behind the last element become 0.
/// Memory: writes 1/8 B per element, and reads what `active` reads.
template <class Exec, class MemorySpace, class Predicate>
void fill_active_mask(const Exec& exec, const Kokkos::View<std::uint32_t*, MemorySpace>& mask,
                      std::int64_t elements, const Predicate& active) {
  using Mask = Kokkos::View<std::uint32_t*, MemorySpace>;
  const auto words = static_cast<std::int64_t>(mask.extent(0));
  if constexpr (detail::one_thread_per_block<Exec>) {
    using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for("kadam::fill_active_mask", Policy(exec, 0, words),
                         detail::FillActiveMask<Mask, Predicate>{mask, active, elements});
  } else {
    using Tile = detail::FillActiveMaskOfTile<Mask, Predicate>;
    detail::for_each_block("kadam::fill_active_mask", exec, 0,
                           (words + Tile::tile_words - 1) / Tile::tile_words, Tile{mask, active, elements});
  }
}

}  // namespace kadam
