// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/quantiser.hpp>

#include <Kokkos_Core.hpp>

#include <bit>
#include <cstdint>

/// Codes and values of a tile of consecutive elements, by one thread of a CPU.
///
/// Compilers vectorise neither a loop over the few elements of a word nor one over all elements with shifts
/// that differ. They do vectorise these: 32 elements of a 1-bit word; wider codes byte by byte, with values
/// and packed bytes in steps of their own.
namespace kadam::detail {

static_assert(std::endian::native == std::endian::little,
              "messages are little-endian, and tiles read them byte by byte");

/// A tile and its values and codes stay in the innermost cache. A multiple of 32.
inline constexpr std::int64_t tile_elements = 256;

template <Quantiser Q>
inline constexpr bool has_tiles = Q::bits <= 8;

/// values[k] = decoded code of element k, for whole words: up to 31 elements past count are written.
template <Quantiser Q>
KOKKOS_FORCEINLINE_FUNCTION void decode_tile(const Q& quantiser, const std::uint32_t* words,
                                             std::int64_t count, float scale, float* KOKKOS_RESTRICT values) {
  if constexpr (Q::bits == 1) {
    for (std::int64_t w = 0; w < (count + 31) / 32; ++w) {
      const std::uint32_t word = words[w];
      for (unsigned e = 0; e < 32U; ++e) values[32 * w + e] = quantiser.decode((word >> e) & 1U, scale);
    }
  } else {
    constexpr int per_byte = 8 / Q::bits;
    constexpr unsigned mask = (1U << Q::bits) - 1U;
    const auto* bytes = reinterpret_cast<const unsigned char*>(words);
    const std::int64_t used_bytes = (count + per_byte - 1) / per_byte;
    KADAM_SIMD
    for (std::int64_t b = 0; b < used_bytes; ++b) {
      for (int s = 0; s < per_byte; ++s) {
        values[b * per_byte + s] = quantiser.decode((bytes[b] >> (s * Q::bits)) & mask, scale);
      }
    }
  }
}

/// words <- codes of h, 0 beyond count; h <- what they do not say.
template <Quantiser Q>
KOKKOS_FORCEINLINE_FUNCTION void encode_tile(const Q& quantiser, float* KOKKOS_RESTRICT h, std::int64_t count,
                                             float scale, std::uint32_t* KOKKOS_RESTRICT words) {
  if constexpr (Q::bits == 1) {
    const auto encode_word = [&](const std::int64_t w, const std::int64_t inside) {
      float* of_word = h + 32 * w;
      std::uint32_t word = 0;
      for (std::int64_t e = 0; e < inside; ++e) {
        word |= quantiser.encode(of_word[e], scale) << static_cast<unsigned>(e);
      }
      words[w] = word;
      for (std::int64_t e = 0; e < inside; ++e) {
        of_word[e] -= quantiser.decode(quantiser.encode(of_word[e], scale), scale);
      }
    };
    std::int64_t w = 0;
    for (; 32 * (w + 1) <= count; ++w) encode_word(w, 32);
    if (32 * w < count) encode_word(w, count - 32 * w);
  } else {
    std::uint8_t codes[tile_elements];
    KADAM_SIMD
    for (std::int64_t k = 0; k < count; ++k) {
      const std::uint32_t code = quantiser.encode(h[k], scale);
      h[k] -= quantiser.decode(code, scale);
      codes[k] = static_cast<std::uint8_t>(code);
    }
    constexpr int per_byte = 8 / Q::bits;
    const std::int64_t used_bytes = 4 * ((count * Q::bits + 31) / 32);
    for (std::int64_t k = count; k < used_bytes * per_byte; ++k) codes[k] = 0;
    auto* bytes = reinterpret_cast<unsigned char*>(words);
    KADAM_SIMD
    for (std::int64_t b = 0; b < used_bytes; ++b) {
      unsigned byte = 0;
      for (int s = 0; s < per_byte; ++s) {
        byte |= static_cast<unsigned>(codes[b * per_byte + s]) << (s * Q::bits);
      }
      bytes[b] = static_cast<unsigned char>(byte);
    }
  }
}

/// function(first element of the tile, its length) for all tiles of a block.
template <class Function>
KOKKOS_FORCEINLINE_FUNCTION void for_each_tile(std::int64_t elements, const Function& function) {
  for (std::int64_t first = 0; first < elements; first += tile_elements) {
    function(first, Kokkos::min(tile_elements, elements - first));
  }
}

}  // namespace kadam::detail
