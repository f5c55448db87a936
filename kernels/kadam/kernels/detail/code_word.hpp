// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/quantiser.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

/// Codes and the 32-bit words of a message that hold them.
namespace kadam::detail {

/// Number of codes in one word of a message.
template <Quantiser Q>
inline constexpr std::int64_t elements_per_word = 32 / Q::bits;

/// Number of words that hold the codes of `elements` elements.
template <Quantiser Q>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION constexpr std::int64_t words_holding(std::int64_t elements) {
  return (elements + elements_per_word<Q> - 1) / elements_per_word<Q>;
}

/// Returns the scale of a block of a message, 0 for a code that has none. words: a View or a pointer.
template <Quantiser Q, class Message>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float scale_in(const Message& words, std::int64_t scale_word) {
  return Q::has_scale ? number_in(words[scale_word]) : 0.0F;
}

/// The bits of the first code of a word.
template <Quantiser Q>
inline constexpr std::uint32_t code_mask = Q::bits == 32 ? ~0U : (std::uint32_t{1} << (Q::bits % 32)) - 1U;

/// The code of element `element` of a word, 0 <= element < elements_per_word<Q>.
template <Quantiser Q>
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t code_at(std::uint32_t word, std::int64_t element) {
  if constexpr (Q::bits == 32) {
    return word;
  } else {
    return (word >> static_cast<unsigned>(element * Q::bits)) & code_mask<Q>;
  }
}

/// at(word, element): the code of an element of a word, as code_at() gives it, but for a 1-bit code any
/// number other than 0 stands for 1. A CPU finds a bit by a table of masks, which is one step in a vectorised
/// loop; a shift is three.
template <Quantiser Q>
struct CodesOfWord {
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::uint32_t at(std::uint32_t word, std::int64_t element) const {
    if constexpr (Q::bits == 1) {
      KOKKOS_IF_ON_HOST((return word & bits_.of[element];))
    }
    KOKKOS_IF_ON_DEVICE((return code_at<Q>(word, element);))
    KOKKOS_IF_ON_HOST((return code_at<Q>(word, element);))
  }

 private:
  struct Table {
    std::uint32_t of[32];
    KOKKOS_FORCEINLINE_FUNCTION Table() {
      for (unsigned e = 0; e < 32U; ++e) of[e] = 1U << e;
    }
  };
  struct Nothing {};
  std::conditional_t<Q::bits == 1, Table, Nothing> bits_;
};

/// The decoded value of element k < 2^32 of a block, whose first code word is words[0].
template <Quantiser Q>
KOKKOS_FORCEINLINE_FUNCTION float value_at(const Q& quantiser, const std::uint32_t* words, std::int64_t k,
                                           float scale) {
  constexpr std::uint32_t width = elements_per_word<Q>;
  const auto place = static_cast<std::uint32_t>(k);  // which a GPU divides with less effort than 64 bits
  return quantiser.decode(code_at<Q>(words[place / width], place % width), scale);
}

/// function(min(count, Full)): Full, the elements of a full word, is a compile-time constant, so that a loop
/// over them unrolls.
template <std::int64_t Full, class Function>
KOKKOS_FORCEINLINE_FUNCTION void with_count(std::int64_t count, const Function& function) {
  if (count >= Full) {
    function(Full);
  } else {
    function(count);
  }
}

/// function(k, decoded value of element k) for k in [0, count), where element 0 has the first code of
/// words[0]. No call may depend on another: the loops are vectorised.
template <Quantiser Q, class Function>
KOKKOS_FORCEINLINE_FUNCTION void for_each_value_of_words(const HostBlockMember& member, const Q& quantiser,
                                                         const std::uint32_t* words, std::int64_t count,
                                                         float scale, const Function& function) {
  constexpr std::int64_t width = elements_per_word<Q>;
  const CodesOfWord<Q> codes;
  member.for_each(words_holding<Q>(count), [&](const std::int64_t w) {
    const std::uint32_t word = words[w];
    with_count<width>(count - w * width, [&](const std::int64_t inside) {
      KADAM_SIMD
      for (std::int64_t e = 0; e < inside; ++e) {
        function(w * width + e, quantiser.decode(codes.at(word, e), scale));
      }
    });
  });
}

}  // namespace kadam::detail
