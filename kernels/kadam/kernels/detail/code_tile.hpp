// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/detail/host_vector.hpp>
#include <kadam/kernels/quantiser.hpp>

#include <Kokkos_Core.hpp>

#include <bit>
#include <cstdint>

/// Encodes and decodes a tile of consecutive elements, by one thread of a CPU.
///
/// Compilers vectorise neither a loop over the few elements of a word nor a loop over all elements whose
/// shift differs from element to element. They do vectorise the loops here: over the 32 elements of a word of
/// 1-bit codes, and, for codes of 2 to 8 bits, one loop between values and codes of a byte each, and others
/// between these bytes and packed bytes.
namespace kadam::detail {

static_assert(std::endian::native == std::endian::little,
              "messages are little-endian, and tiles read them byte by byte");

/// Whether codes of Q are packed and unpacked byte by byte.
template <Quantiser Q>
inline constexpr bool shares_bytes = Q::bits > 1 && Q::bits <= 8;

/// codes[k] <- the code of element k, for a code of 4 or 2 bits: splits each byte into halves, and for 2 bits
/// each half again. Shape: count <= tile_elements; codes has count elements, one more if count is odd.
template <int Bits>
KOKKOS_FORCEINLINE_FUNCTION void unpack_codes(const unsigned char* bytes, std::int64_t count,
                                              unsigned char* KOKKOS_RESTRICT codes) {
  const std::int64_t pairs = (count + 1) / 2;
  if constexpr (Bits == 4) {
    KADAM_SIMD
    for (std::int64_t b = 0; b < pairs; ++b) {
      codes[2 * b] = static_cast<unsigned char>(bytes[b] & 15U);
      codes[2 * b + 1] = static_cast<unsigned char>(bytes[b] >> 4U);
    }
  } else {
    unsigned char halves[tile_elements / 2];
    unpack_codes<4>(bytes, pairs, halves);
    KADAM_SIMD
    for (std::int64_t b = 0; b < pairs; ++b) {
      codes[2 * b] = static_cast<unsigned char>(halves[b] & 3U);
      codes[2 * b + 1] = static_cast<unsigned char>(halves[b] >> 2U);
    }
  }
}

/// function(k, decoded value of element k) for k in [0, count), where element 0 has the first code of
/// words[0]. Shape: count <= tile_elements. No call may depend on another: the loop is vectorised.
template <Quantiser Q, class Function>
KOKKOS_FORCEINLINE_FUNCTION void for_each_value(const HostBlockMember& member, const Q& quantiser,
                                                const std::uint32_t* words, std::int64_t count, float scale,
                                                const Function& function) {
  if constexpr (shares_bytes<Q>) {
    const auto* codes = reinterpret_cast<const unsigned char*>(words);
    unsigned char unpacked[tile_elements];
    if constexpr (Q::bits < 8) {
      unpack_codes<Q::bits>(codes, count, unpacked);
      codes = unpacked;
    }
    member.for_each(count, [&](const std::int64_t k) { function(k, quantiser.decode(codes[k], scale)); });
  } else {
    for_each_value_of_words(member, quantiser, words, count, scale, function);
  }
}

/// bytes[0, used_bytes) <- the packed codes, of 4 or 2 bits: the reverse of unpack_codes(). Shape: codes has
/// as many codes as these bytes hold.
template <int Bits>
KOKKOS_FORCEINLINE_FUNCTION void pack_codes(std::int64_t used_bytes, const unsigned char* codes,
                                            unsigned char* KOKKOS_RESTRICT bytes) {
  if constexpr (Bits == 4) {
    KADAM_SIMD
    for (std::int64_t b = 0; b < used_bytes; ++b) {
      bytes[b] = static_cast<unsigned char>(codes[2 * b] | (codes[2 * b + 1] << 4U));
    }
  } else {
    unsigned char halves[tile_elements / 2];
    const std::int64_t pairs = 2 * used_bytes;
    KADAM_SIMD
    for (std::int64_t b = 0; b < pairs; ++b) {
      halves[b] = static_cast<unsigned char>(codes[2 * b] | (codes[2 * b + 1] << 2U));
    }
    pack_codes<4>(used_bytes, halves, bytes);
  }
}

/// bytes <- the codes of a tile, packed, and 0 bits behind them up to a whole word. Codes of 8 bits are there
/// already: codes is bytes. Writes zeros behind the codes. Shape: count <= tile_elements.
template <Quantiser Q>
KOKKOS_FORCEINLINE_FUNCTION void finish_codes(unsigned char* codes, std::int64_t count,
                                              unsigned char* bytes) {
  const std::int64_t words = words_holding<Q>(count);
  for (std::int64_t k = count; k < words * elements_per_word<Q>; ++k) codes[k] = 0;
  if constexpr (Q::bits < 8) pack_codes<Q::bits>(4 * words, codes, bytes);
}

/// words <- the codes of h[0, count), and 0 bits behind them; h[k] <- h[k] - its decoded code, the new error.
/// Shape: count <= tile_elements.
template <Quantiser Q>
KOKKOS_FORCEINLINE_FUNCTION void encode_tile(const Q& quantiser, float* KOKKOS_RESTRICT h, std::int64_t count,
                                             float scale, std::uint32_t* KOKKOS_RESTRICT words) {
  if constexpr (Q::bits == 1) {
    std::int64_t w = 0;
    for (; 32 * (w + 1) <= count; ++w) words[w] = take_signs_of_32(h + 32 * w, scale);
    if (32 * w < count) words[w] = 0;
    for (std::int64_t k = 32 * w; k < count; ++k) {
      const std::uint32_t code = quantiser.encode(h[k], scale);
      words[w] |= code << static_cast<unsigned>(k - 32 * w);
      h[k] -= quantiser.decode(code, scale);
    }
  } else if constexpr (Q::bits == 32) {
    KADAM_SIMD
    for (std::int64_t k = 0; k < count; ++k) {
      words[k] = quantiser.encode(h[k], scale);
      h[k] -= quantiser.decode(words[k], scale);
    }
  } else {
    // A code of 8 bits needs no packing. A copy of a few bytes would take as long as their codes.
    auto* const bytes = reinterpret_cast<unsigned char*>(words);
    unsigned char unpacked[tile_elements];
    unsigned char* const codes = Q::bits == 8 ? bytes : unpacked;
    const Q known = quantiser;
    KADAM_SIMD
    for (std::int64_t k = 0; k < count; ++k) {
      const std::uint32_t code = known.encode(h[k], scale);
      h[k] -= known.decode(code, scale);
      codes[k] = static_cast<unsigned char>(code);
    }
    finish_codes<Q>(codes, count, bytes);
  }
}

}  // namespace kadam::detail
