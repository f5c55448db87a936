// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/backend.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/quantiser.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace kadam::detail {

/// The values that a message says of the elements of a block that a thread holds from element `first` on.
/// Where a team has a thread for every code of some words, a thread finds all of its codes at one place in
/// their words.
template <Quantiser Q, class Member>
class HeldValues {
 public:
  /// words: the first of the block.
  KOKKOS_FORCEINLINE_FUNCTION HeldValues(const Member& member, const Q& quantiser, const std::uint32_t* words,
                                         std::int64_t first, float scale)
      : quantiser_(quantiser),
        threads_(member.threads()),
        place_((first + member.rank()) % width),
        words_(words + (first + member.rank()) / width),
        scale_(scale) {}

  /// That of the element in register j.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator[](int j) const {
    if (threads_ % width == 0) return decode(words_[j * (threads_ / width)], place_);
    const std::int64_t place = place_ + j * threads_;
    return decode(words_[place / width], place % width);
  }

 private:
  static constexpr std::int64_t width = elements_per_word<Q>;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float decode(std::uint32_t word, std::int64_t place) const {
    return quantiser_.decode(code_at<Q>(word, place), scale_);
  }

  const Q& quantiser_;
  std::int64_t threads_;
  std::int64_t place_;
  const std::uint32_t* words_;
  float scale_;
};

/// The codes of the elements that a team holds, on their way into the words of a message: each thread puts
/// its own as bytes into memory of the team, and then packs whole words. Whatever the width of a warp, nobody
/// shares a word.
template <Quantiser Q>
class HeldCodes {
 public:
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION explicit HeldCodes(const Member& member)
      : codes_(member.template scratch<Code>(member.held())) {}

  /// The code of element k, from the first that is held.
  KOKKOS_FORCEINLINE_FUNCTION void put(std::int64_t k, std::uint32_t code) const {
    codes_[k] = static_cast<Code>(code);
  }

  /// words <- the codes of `count` elements, 0 beyond. The words that are held are whole ones, but the last.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void write(const Member& member, std::int64_t count,
                                         std::uint32_t* words) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    member.barrier();
    member.for_each((count + width - 1) / width, [&](const std::int64_t w) {
      const Code* const codes = codes_ + w * width;
      const std::int64_t inside = count - w * width;
      words[w] = Member::is_whole || inside >= width ? whole_word(codes) : part_of_word(codes, inside);
    });
  }

  /// Of a team's memory, with what alignment may cost.
  [[nodiscard]] static int bytes(int threads) {
    return threads * held_elements * static_cast<int>(sizeof(Code)) + 8;
  }

 private:
  using Code = std::conditional_t<Q::bits <= 8, std::uint8_t, std::uint32_t>;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static std::uint32_t whole_word(const Code* codes) {
    if constexpr (Q::bits > 8) {
      return codes[0];
    } else {
      // Four at a time, which lie in a word of the team's memory.
      std::uint32_t word = 0;
      KADAM_UNROLL
      for (int four = 0; four < elements_per_word<Q> / 4; ++four) {
        const std::uint32_t bytes = reinterpret_cast<const std::uint32_t*>(codes)[four];
        word |= packed(bytes) << static_cast<unsigned>(4 * Q::bits * four);
      }
      return word;
    }
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static std::uint32_t part_of_word(const Code* codes,
                                                                              std::int64_t count) {
    std::uint32_t word = 0;
    for (std::int64_t e = 0; e < count; ++e) {
      word |= std::uint32_t{codes[e]} << static_cast<unsigned>(e * Q::bits);
    }
    return word;
  }
  /// The codes of four bytes, one behind the other.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static std::uint32_t packed(std::uint32_t bytes) {
    constexpr unsigned gap = 8U - static_cast<unsigned>(Q::bits);
    constexpr std::uint32_t mask = (1U << static_cast<unsigned>(Q::bits)) - 1U;
    if constexpr (gap == 0) return bytes;
    return (bytes & mask) | ((bytes >> gap) & (mask << (8U - gap))) |
           ((bytes >> (2U * gap)) & (mask << (16U - 2U * gap))) |
           ((bytes >> (3U * gap)) & (mask << (24U - 3U * gap)));
  }

  Code* codes_;
};

}  // namespace kadam::detail
