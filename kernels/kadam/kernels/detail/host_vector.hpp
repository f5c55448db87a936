// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

/// Explicit vector code for three things that compilers do not make of loops: comparisons that give bits,
/// lookups in a table in registers, and interleaving the bits of four messages. Everything else is loops,
/// which compilers vectorise. Each function has a plain form, which shows what it computes and runs on all
/// other processors; all forms give the same bits.

#if !defined(__CUDACC__) && !defined(__HIP__) && defined(__AVX512F__)
#define KADAM_HOST_AVX512
#include <immintrin.h>
#elif !defined(__CUDACC__) && !defined(__HIP__) && defined(__AVX2__)
#define KADAM_HOST_AVX2
#include <immintrin.h>
#endif

namespace kadam::detail {

/// Returns the 1-bit codes of h[0, 32), bit e set where h[e] >= 0, and takes their values out of h:
/// h[e] <- h[e] - scale where bit e is set, h[e] + scale elsewhere.
[[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint32_t take_signs_of_32(float* h, float scale) {
#if defined(KADAM_HOST_AVX512)
  const __m512 set = _mm512_set1_ps(scale);
  const __m512 clear = _mm512_set1_ps(-scale);
  const auto half = [&](float* of) {
    const __m512 value = _mm512_loadu_ps(of);
    const __mmask16 signs = _mm512_cmp_ps_mask(value, _mm512_setzero_ps(), _CMP_GE_OQ);
    _mm512_storeu_ps(of, _mm512_sub_ps(value, _mm512_mask_blend_ps(signs, clear, set)));
    return static_cast<std::uint32_t>(signs);
  };
  return half(h) | half(h + 16) << 16U;
#elif defined(KADAM_HOST_AVX2)
  const __m256 set = _mm256_set1_ps(scale);
  const __m256 clear = _mm256_set1_ps(-scale);
  const auto quarter = [&](float* of) {
    const __m256 value = _mm256_loadu_ps(of);
    const __m256 signs = _mm256_cmp_ps(value, _mm256_setzero_ps(), _CMP_GE_OQ);
    _mm256_storeu_ps(of, _mm256_sub_ps(value, _mm256_blendv_ps(clear, set, signs)));
    return _mm256_castps_si256(signs);
  };
  const __m256i first = _mm256_packs_epi32(quarter(h), quarter(h + 8));
  const __m256i second = _mm256_packs_epi32(quarter(h + 16), quarter(h + 24));
  const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(first, second),
                                                    _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
#else
  std::uint32_t signs = 0;
  for (unsigned e = 0; e < 32U; ++e) signs |= (h[e] >= 0.0F ? 1U : 0U) << e;
  for (int e = 0; e < 32; ++e) h[e] -= h[e] >= 0.0F ? scale : -scale;
  return signs;
#endif
}

/// The sums of 32 elements, in registers: 0, or those that read() loads, until write() stores them.
///
/// add(table, indices): sums[e] += table[index of element e], for a table of 16 numbers. The 32 indices of 4
/// bits are in four consecutive words. interleaved: index e is in word e % 4, from bit 4 (e / 4) on, as
/// indices_of_signs() writes it. Otherwise: in word e / 8, from bit 4 (e % 8) on, as codes of 4 bits lie in a
/// message.
#if defined(KADAM_HOST_AVX512)
class SumsOf32 {
 public:
  KOKKOS_INLINE_FUNCTION void read(const float* sums) {
    first_ = _mm512_loadu_ps(sums);
    second_ = _mm512_loadu_ps(sums + 16);
  }

  template <bool interleaved>
  KOKKOS_INLINE_FUNCTION void add(const float* table, const std::uint32_t* indices) {
    const __m512 numbers = _mm512_loadu_ps(table);
    const __m512i words =
        _mm512_maskz_broadcast_i32x4(all, _mm_loadu_si128(reinterpret_cast<const __m128i*>(indices)));
    if constexpr (interleaved) {
      const __m512i index = _mm512_maskz_srlv_epi32(
          all, words, _mm512_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
      first_ = _mm512_add_ps(first_, _mm512_maskz_permutexvar_ps(all, index, numbers));
      second_ = _mm512_add_ps(
          second_, _mm512_maskz_permutexvar_ps(all, _mm512_maskz_srli_epi32(all, index, 16), numbers));
    } else {
      const __m512i shift = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
      const __m512i low = _mm512_maskz_permutexvar_epi32(
          all, _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1), words);
      const __m512i high = _mm512_maskz_permutexvar_epi32(
          all, _mm512_setr_epi32(2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3), words);
      first_ = _mm512_add_ps(
          first_, _mm512_maskz_permutexvar_ps(all, _mm512_maskz_srlv_epi32(all, low, shift), numbers));
      second_ = _mm512_add_ps(
          second_, _mm512_maskz_permutexvar_ps(all, _mm512_maskz_srlv_epi32(all, high, shift), numbers));
    }
  }
  KOKKOS_INLINE_FUNCTION void write(float* sums) const {
    _mm512_storeu_ps(sums, first_);
    _mm512_storeu_ps(sums + 16, second_);
  }

 private:
  /// All lanes. GCC 12 warns of undefined values in its forms of the instructions that have no mask.
  static constexpr __mmask16 all = 0xFFFF;

  __m512 first_ = _mm512_setzero_ps();
  __m512 second_ = _mm512_setzero_ps();
};
#elif defined(KADAM_HOST_AVX2)
class SumsOf32 {
 public:
  KOKKOS_INLINE_FUNCTION void read(const float* sums) {
    for (int j = 0; j < 4; ++j) sums_[j] = _mm256_loadu_ps(sums + std::ptrdiff_t{8} * j);
  }

  template <bool interleaved>
  KOKKOS_INLINE_FUNCTION void add(const float* table, const std::uint32_t* indices) {
    const __m256 low = _mm256_loadu_ps(table);
    const __m256 high = _mm256_loadu_ps(table + 8);
    const auto look_up = [&](__m256i index) {
      return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, index), _mm256_permutevar8x32_ps(high, index),
                              _mm256_castsi256_ps(_mm256_slli_epi32(index, 28)));
    };
    if constexpr (interleaved) {
      const __m256i words =
          _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(indices)));
      const __m256i index = _mm256_srlv_epi32(words, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
      sums_[0] = _mm256_add_ps(sums_[0], look_up(index));
      sums_[1] = _mm256_add_ps(sums_[1], look_up(_mm256_srli_epi32(index, 8)));
      sums_[2] = _mm256_add_ps(sums_[2], look_up(_mm256_srli_epi32(index, 16)));
      sums_[3] = _mm256_add_ps(sums_[3], look_up(_mm256_srli_epi32(index, 24)));
    } else {
      const __m256i shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
      for (int j = 0; j < 4; ++j) {
        const __m256i word = _mm256_set1_epi32(static_cast<int>(indices[j]));
        sums_[j] = _mm256_add_ps(sums_[j], look_up(_mm256_srlv_epi32(word, shift)));
      }
    }
  }
  KOKKOS_INLINE_FUNCTION void write(float* sums) const {
    for (int j = 0; j < 4; ++j) _mm256_storeu_ps(sums + std::ptrdiff_t{8} * j, sums_[j]);
  }

 private:
  __m256 sums_[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
};
#else
class SumsOf32 {
 public:
  KOKKOS_INLINE_FUNCTION void read(const float* sums) {
    for (int e = 0; e < 32; ++e) sums_[e] = sums[e];
  }

  template <bool interleaved>
  KOKKOS_INLINE_FUNCTION void add(const float* table, const std::uint32_t* indices) {
    for (unsigned e = 0; e < 32U; ++e) {
      const std::uint32_t index =
          interleaved ? indices[e % 4U] >> (4U * (e / 4U)) : indices[e / 8U] >> (4U * (e % 8U));
      sums_[e] += table[index & 15U];
    }
  }
  KOKKOS_INLINE_FUNCTION void write(float* sums) const {
    for (int e = 0; e < 32; ++e) sums[e] = sums_[e];
  }

 private:
  float sums_[32] = {};
};
#endif

/// The place in `indices` of the four words that indices_of_signs() writes for word w. Of each eight words
/// the order is 0, 4, 1, 5, 2, 6, 3, 7: the order in which a vector unit has them.
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr std::int64_t index_place(std::int64_t w) {
  return 4 * (w / 8 * 8 + w % 4 * 2 + w / 4 % 2);
}

/// indices <- the 1-bit codes of messages a, b, c and d side by side: 4 bits per element, that of `a` the
/// lowest. The indices of the elements of word w are the four words from index_place(w) on, interleaved as
/// SumsOf32 reads them. Shape: a, b, c and d have `words` words each; indices has 32 words for every 8 words
/// and for the rest of them.
KOKKOS_INLINE_FUNCTION void indices_of_signs(const std::uint32_t* a, const std::uint32_t* b,
                                             const std::uint32_t* c, const std::uint32_t* d,
                                             std::int64_t words, std::uint32_t* indices) {
  std::int64_t w = 0;
#if defined(KADAM_HOST_AVX512) || defined(KADAM_HOST_AVX2)
  const __m256i fives = _mm256_set1_epi32(0x55555555);
  const __m256i threes = _mm256_set1_epi32(0x33333333);
  const auto load = [&w](const std::uint32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + w));
  };
  const auto blend = [](__m256i mask, __m256i where_set, __m256i elsewhere) {
    return _mm256_or_si256(_mm256_and_si256(mask, where_set), _mm256_andnot_si256(mask, elsewhere));
  };
  for (; w + 8 <= words; w += 8) {
    const __m256i of[4] = {load(a), load(b), load(c), load(d)};
    const __m256i even_ab = blend(fives, of[0], _mm256_slli_epi32(of[1], 1));
    const __m256i odd_ab = blend(fives, _mm256_srli_epi32(of[0], 1), of[1]);
    const __m256i even_cd = blend(fives, of[2], _mm256_slli_epi32(of[3], 1));
    const __m256i odd_cd = blend(fives, _mm256_srli_epi32(of[2], 1), of[3]);
    const __m256i n0 = blend(threes, even_ab, _mm256_slli_epi32(even_cd, 2));
    const __m256i n1 = blend(threes, odd_ab, _mm256_slli_epi32(odd_cd, 2));
    const __m256i n2 = blend(threes, _mm256_srli_epi32(even_ab, 2), even_cd);
    const __m256i n3 = blend(threes, _mm256_srli_epi32(odd_ab, 2), odd_cd);
    const __m256i low01 = _mm256_unpacklo_epi32(n0, n1);
    const __m256i high01 = _mm256_unpackhi_epi32(n0, n1);
    const __m256i low23 = _mm256_unpacklo_epi32(n2, n3);
    const __m256i high23 = _mm256_unpackhi_epi32(n2, n3);
    auto* const to = reinterpret_cast<__m256i*>(indices + 4 * w);
    _mm256_storeu_si256(to, _mm256_unpacklo_epi64(low01, low23));
    _mm256_storeu_si256(to + 1, _mm256_unpackhi_epi64(low01, low23));
    _mm256_storeu_si256(to + 2, _mm256_unpacklo_epi64(high01, high23));
    _mm256_storeu_si256(to + 3, _mm256_unpackhi_epi64(high01, high23));
  }
#endif
  for (; w < words; ++w) {
    const auto choose = [](std::uint32_t mask, std::uint32_t where_set, std::uint32_t elsewhere) {
      return (mask & where_set) | (~mask & elsewhere);
    };
    const std::uint32_t even_ab = choose(0x55555555U, a[w], b[w] << 1U);
    const std::uint32_t odd_ab = choose(0x55555555U, a[w] >> 1U, b[w]);
    const std::uint32_t even_cd = choose(0x55555555U, c[w], d[w] << 1U);
    const std::uint32_t odd_cd = choose(0x55555555U, c[w] >> 1U, d[w]);
    std::uint32_t* const to = indices + index_place(w);
    to[0] = choose(0x33333333U, even_ab, even_cd << 2U);
    to[1] = choose(0x33333333U, odd_ab, odd_cd << 2U);
    to[2] = choose(0x33333333U, even_ab >> 2U, even_cd);
    to[3] = choose(0x33333333U, odd_ab >> 2U, odd_cd);
  }
}

}  // namespace kadam::detail
