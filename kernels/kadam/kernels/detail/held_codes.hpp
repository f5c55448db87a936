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

/// The decoded values of those elements of a block that a thread holds in the round from element `first` on.
/// If the threads of the team are a multiple of a word's codes, all codes of a thread lie at the same place
/// of their words, which saves computing places.
template <Quantiser Q, class Member>
class HeldValues {
 public:
  /// words: the code words of the block, from its first on. They and quantiser must outlive this object.
  KOKKOS_FORCEINLINE_FUNCTION HeldValues(const Member& member, const Q& quantiser, const std::uint32_t* words,
                                         std::int64_t first, float scale)
      : quantiser_(quantiser),
        threads_(member.threads()),
        place_((first + member.rank()) % width),
        words_(words + (first + member.rank()) / width),
        scale_(scale) {}

  /// The value of the element in register j, as TeamBlockMember::for_each_held() counts registers.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator[](int j) const { return decode(j, word(j)); }

  /// The word that has the code of element j, and the element's value in it. A thread that reads several
  /// words before it stores anything waits once for all of them: no load can move up past a store.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::uint32_t word(int j) const {
    return words_[threads_ % width == 0 ? j * (threads_ / width) : (place_ + j * threads_) / width];
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float decode(int j, std::uint32_t word) const {
    const std::int64_t place = threads_ % width == 0 ? place_ : (place_ + j * threads_) % width;
    return quantiser_.decode(code_at<Q>(word, place), scale_);
  }

 private:
  static constexpr std::int64_t width = elements_per_word<Q>;

  const Q& quantiser_;
  std::int64_t threads_;
  std::int64_t place_;
  const std::uint32_t* words_;
  float scale_;
};

/// Packs the codes of the elements that a team holds into the words of a message: each thread puts its codes,
/// as bytes, into scratch memory of the team, then packs whole words. So no two threads write to a word,
/// whatever the width of a warp.
template <Quantiser Q>
class HeldCodes {
 public:
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION explicit HeldCodes(const Member& member)
      : codes_(member.template scratch<Code>(member.held())) {}

  /// Puts the code of element k, counted from the first element that the team holds. No barrier.
  KOKKOS_FORCEINLINE_FUNCTION void put(std::int64_t k, std::uint32_t code) const {
    codes_[k] = static_cast<Code>(code);
  }

  /// words <- the codes of the first `count` elements, and 0 bits behind them in the last word. All threads
  /// of the team call it, each after its last put(); begins and ends with a barrier.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void write(const Member& member, std::int64_t count,
                                         std::uint32_t* words) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    member.barrier();
    member.for_each(words_holding<Q>(count), [&](const std::int64_t w) {
      const Code* const codes = codes_ + w * width;
      const std::int64_t inside = count - w * width;
      words[w] = Member::is_whole || inside >= width ? whole_word(codes) : part_of_word(codes, inside);
    });
  }

  /// Bytes of scratch memory that a team of `threads` threads needs if each holds held_elements, with those
  /// that alignment may cost. A narrow team needs half.
  [[nodiscard]] static int bytes(int threads) {
    return threads * held_elements * static_cast<int>(sizeof(Code)) + 8;
  }

 private:
  using Code = std::conditional_t<Q::bits <= 8, std::uint8_t, std::uint32_t>;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static std::uint32_t whole_word(const Code* codes) {
    if constexpr (Q::bits > 8) {
      return codes[0];
    } else {
      // Four codes at a time: as bytes they lie in one word of the scratch memory.
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
  /// The codes of four bytes without the gaps between them: the first in the lowest bits.
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
