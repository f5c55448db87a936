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
      std::uint32_t word = 0;
      with_count<width>(count - w * width, [&](const std::int64_t inside) {
        for (std::int64_t e = 0; e < inside; ++e) {
          word |= std::uint32_t{codes_[w * width + e]} << static_cast<unsigned>(e * Q::bits);
        }
      });
      words[w] = word;
    });
  }

  /// Of a team's memory, with what alignment may cost.
  [[nodiscard]] static int bytes(int threads) {
    return threads * held_elements * static_cast<int>(sizeof(Code)) + 8;
  }

 private:
  using Code = std::conditional_t<Q::bits <= 8, std::uint8_t, std::uint32_t>;
  Code* codes_;
};

}  // namespace kadam::detail
