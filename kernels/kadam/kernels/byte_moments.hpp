// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/bfloat16_errors.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/half_copy.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/tensor_blocks.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

/// Moments in 8 bits per element, block-wise (Dettmers et al. 2021, 8-bit Optimizers via Block-wise
/// Quantization): the code of an element says its share of the largest magnitude in its block.
namespace kadam {

/// Code of `Bits` bits for a share from 0 to 1: the exponent of the share and 3 bits of its mantissa. Every
/// octave has eight codes, down to the smallest share, that of code 1. Code 0 is 0, the largest code is 1.
///
/// Worked number: 8 bits: 255 is 1, 254 is 0.9375, 1 is 1.25 2^-32; 7 bits: 127 is 1, 1 is 1.25 2^-16.
template <int Bits>
struct ShareCode {
  static constexpr std::int32_t largest = (1 << Bits) - 1;
  /// The `chance` with which encode() rounds to the nearest.
  static constexpr std::uint32_t nearest = 0x8000U;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static float decode(std::int32_t code) {
    return code > 0 ? Kokkos::bit_cast<float>((code + below) << dropped) : 0.0F;
  }
  /// Returns the code of `share`, 0 or more, rounded down or up by `chance`, 16 evenly distributed bits: from
  /// code 1 on, the mean over all of them is the share, but for 8 units in its last place. A share at most 7
  /// units in the last place off the value of a code always gets that code; so a decoded share that is
  /// encoded again keeps its code. Integers alone: this vectorises.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static std::int32_t encode(float share, std::uint32_t chance) {
    const auto bits = Kokkos::bit_cast<std::uint32_t>(share) + (chance << (dropped - 16)) + 8U;
    const std::int32_t code = static_cast<std::int32_t>(bits >> dropped) - below;
    const std::int32_t bounded = code < largest ? code : std::int32_t{largest};
    return bounded > 0 ? bounded : 0;
  }

 private:
  static constexpr int dropped = 20;  // the lowest of a float32's 23 bits of mantissa
  // What the upper bits of a float32 exceed its code by: 1 has the largest code.
  static constexpr std::int32_t below = (0x3f800000 >> dropped) - largest;
};

/// Code of an element of m: a sign bit and a ShareCode of 7 bits. inverse: MomentScale::inverse.
struct FirstMomentCode {
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static float decode(std::uint8_t code, float scale) {
    const float size = ShareCode<7>::decode(code & 0x7f) * scale;
    return Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(size) |
                                   (static_cast<std::uint32_t>(code & 0x80) << 24U));
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static std::uint8_t encode(float m, float inverse,
                                                                       std::uint32_t chance) {
    const std::uint32_t sign = (Kokkos::bit_cast<std::uint32_t>(m) >> 24U) & 0x80U;
    const std::int32_t size = ShareCode<7>::encode(Kokkos::fabs(m) * inverse, chance);
    return static_cast<std::uint8_t>(sign | static_cast<std::uint32_t>(size));
  }
};

/// Code of an element of v: a ShareCode of 8 bits, but never 0 for a share above 0, because a step is divided
/// by the root of v. inverse: MomentScale::inverse.
struct SecondMomentCode {
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static float decode(std::uint8_t code, float scale) {
    return ShareCode<8>::decode(code) * scale;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static std::uint8_t encode(float v, float inverse,
                                                                       std::uint32_t chance) {
    const float share = v * inverse;
    const std::int32_t code = ShareCode<8>::encode(share, chance);
    const std::int32_t least = share > 0.0F ? 1 : 0;
    return static_cast<std::uint8_t>(code > least ? code : least);
  }
};

/// Scale of a block: its largest magnitude, by which the elements are divided. If it is below 2^-126, all
/// elements become 0; elements above 2^126 become 2^126.
struct MomentScale {
  float scale = 0.0F;
  float inverse = 0.0F;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static MomentScale of(float largest) {
    const float bounded = largest < 0x1p126F ? largest : 0x1p126F;
    if (!(bounded >= 0x1p-126F)) return {};
    return {bounded, 1.0F / bounded};
  }
};

/// First and second moments, in 8 bits each: two codes for each element, two scales for each block.
template <class MemorySpace>
struct ByteMoments {
  TensorBlocks<MemorySpace> blocks;
  Kokkos::View<std::uint8_t*, MemorySpace> m;
  Kokkos::View<std::uint8_t*, MemorySpace> v;
  Kokkos::View<float*, MemorySpace> m_scales;
  Kokkos::View<float*, MemorySpace> v_scales;
};

namespace detail {

/// Shape of a team: one warp, which holds a whole block in its registers, 8 elements per thread. With
/// KADAM_ENABLE_HOST_TEAMS a single thread may have to hold the block.
struct MomentTeam {
  static constexpr int threads = narrow_team_threads;
#ifdef KADAM_ENABLE_HOST_TEAMS
  static constexpr int held = 256;
#else
  static constexpr int held = 256 / narrow_team_threads;
#endif
  static constexpr unsigned teams = narrow_teams_at_a_time;
};

/// Random bits for the elements of a block: of() returns those of element k, the lower 16 for m, the upper 16
/// for v. They follow from `rounding`, the block's first element and k alone.
struct MomentChance {
  std::uint32_t first;

  KOKKOS_FORCEINLINE_FUNCTION MomentChance(std::uint32_t rounding, std::int64_t first_element)
      : first(
            scattered(static_cast<std::uint32_t>(static_cast<std::uint64_t>(first_element)) ^
                      scattered(static_cast<std::uint32_t>(static_cast<std::uint64_t>(first_element) >> 32U) ^
                                scattered(rounding)))) {}

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::uint32_t of(std::uint32_t k) const {
    return first + 0x9e3779b9U * k;  // steps of the golden ratio, as in Bfloat16Errors
  }
};

/// Prefetches elements [first, first + count) of each array that is read, on a CPU.
KOKKOS_FORCEINLINE_FUNCTION void prefetch_elements(const ElementArrays<>& /*none*/, std::int64_t /*first*/,
                                                   std::int64_t /*count*/) {}
template <class First, class... Rest>
KOKKOS_FORCEINLINE_FUNCTION void prefetch_elements(const ElementArrays<First, Rest...>& arrays,
                                                   std::int64_t first, std::int64_t count) {
  if constexpr (First::reads) prefetch_stream(arrays.first.data + first, count);
  prefetch_elements(arrays.rest, first, count);
}

/// Updates a block: decodes m and v; calls rule(x, m, v, elements of the other arrays) for every element;
/// encodes m and v with their new scales.
template <class Rule, class MemorySpace, class Arrays>
struct UpdateByteMoments {
  Rule rule;
  ByteMoments<MemorySpace> moments;
  std::uint32_t rounding;
  Arrays arrays;
  bool are_aligned;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto block = moments.blocks.block(index);
    const MomentChance chance(rounding, block.begin);
    if constexpr (Member::is_one_thread) {
      by_thread(member, index, block, chance);
    } else {
      by_team(member, index, block, chance);
    }
  }

 private:
  using Block = typename TensorBlocks<MemorySpace>::Block;
  template <class T, bool is_read>
  using CodeArrays = ElementArrays<ElementArray<T, is_read>, ElementArray<T, is_read>>;
  static constexpr std::int64_t block_elements = TensorBlocks<MemorySpace>::block_elements;

  /// By one thread, in several loops over a few kilobytes, which stay in the innermost cache.
  KOKKOS_FORCEINLINE_FUNCTION void by_thread(const HostBlockMember& member, std::int64_t index,
                                             const Block& block, const MomentChance& chance) const {
    float m[block_elements];
    float v[block_elements];
    std::uint8_t* const m_codes = moments.m.data() + block.begin;
    std::uint8_t* const v_codes = moments.v.data() + block.begin;
    const float m_scale = moments.m_scales(index);
    const float v_scale = moments.v_scales(index);
    member.for_each(block.elements(), [&](const std::int64_t k) {
      m[k] = FirstMomentCode::decode(m_codes[k], m_scale);
      v[k] = SecondMomentCode::decode(v_codes[k], v_scale);
    });
    for_each_rule(rule, block.begin, block.end,
                  [&](const auto& known, const std::int64_t first, const std::int64_t last) {
                    float* const of_m = m + (first - block.begin);
                    float* const of_v = v + (first - block.begin);
                    member.for_each(last - first, [&](const std::int64_t k) {
                      arrays.at(first + k,
                                [&](auto& x, auto&... others) { known(x, of_m[k], of_v[k], others...); });
                    });
                  });
    // Memory would be idle while this block is encoded in cache.
    if (block.end + block_elements <= static_cast<std::int64_t>(moments.m.extent(0))) {
      prefetch_elements(arrays, block.end, block_elements);
      prefetch_stream(m_codes + block.elements(), block_elements);
      prefetch_stream(v_codes + block.elements(), block_elements);
    }
    const auto new_m = MomentScale::of(
        member.max(block.elements(), [&m](const std::int64_t k) { return Kokkos::fabs(m[k]); }));
    const auto new_v =
        MomentScale::of(member.max(block.elements(), [&v](const std::int64_t k) { return v[k]; }));
    moments.m_scales(index) = new_m.scale;
    moments.v_scales(index) = new_v.scale;
    const auto count = static_cast<std::int32_t>(block.elements());
    KADAM_SIMD
    for (std::int32_t k = 0; k < count; ++k) {
      const std::uint32_t bits = chance.of(static_cast<std::uint32_t>(k));
      m_codes[k] = FirstMomentCode::encode(m[k], new_m.inverse, bits & 0xffffU);
      v_codes[k] = SecondMomentCode::encode(v[k], new_v.inverse, bits >> 16U);
    }
  }

  /// By a team, each of whose threads holds packs of neighbours in registers: one load or store moves 16
  /// bytes of float32, or 4 bytes of codes, where blocks are aligned for that.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void by_team(const Member& member, std::int64_t index, const Block& block,
                                           const MomentChance& chance) const {
    const bool has_packs = are_aligned && block.begin % pack_elements == 0;
    const float m_scale = moments.m_scales(index);
    const float v_scale = moments.v_scales(index);
    float m[Member::held_by_thread];
    float v[Member::held_by_thread];
    const CodeArrays<const std::uint8_t, true> before{{moments.m.data()}, {{moments.v.data()}, {}}};
    for_each_held(member, before, has_packs, block, block.begin, block.end,
                  [&](const int j, std::int64_t, const std::uint8_t& of_m, const std::uint8_t& of_v) {
                    m[j] = FirstMomentCode::decode(of_m, m_scale);
                    v[j] = SecondMomentCode::decode(of_v, v_scale);
                  });
    float largest_m = 0.0F;
    float largest_v = 0.0F;
    for_each_rule(rule, block.begin, block.end,
                  [&](const auto& known, const std::int64_t first, const std::int64_t last) {
                    for_each_held(member, arrays, has_packs, block, first, last,
                                  [&](const int j, std::int64_t, auto& x, auto&... others) {
                                    known(x, m[j], v[j], others...);
                                    largest_m = Kokkos::max(largest_m, Kokkos::fabs(m[j]));
                                    largest_v = Kokkos::max(largest_v, v[j]);
                                  });
                  });
    // The maxima wait for all threads: all have read the old scales before once() overwrites them.
    const auto new_m = MomentScale::of(member.max_of_threads(largest_m));
    const auto new_v = MomentScale::of(member.max_of_threads(largest_v));
    member.once([&] {
      moments.m_scales(index) = new_m.scale;
      moments.v_scales(index) = new_v.scale;
    });
    const CodeArrays<std::uint8_t, false> after{{moments.m.data()}, {{moments.v.data()}, {}}};
    for_each_held(member, after, has_packs, block, block.begin, block.end,
                  [&](const int j, const std::int64_t k, std::uint8_t& of_m, std::uint8_t& of_v) {
                    const std::uint32_t bits = chance.of(static_cast<std::uint32_t>(k));
                    of_m = FirstMomentCode::encode(m[j], new_m.inverse, bits & 0xffffU);
                    of_v = SecondMomentCode::encode(v[j], new_v.inverse, bits >> 16U);
                  });
  }

  /// Calls function(j, k, elements of the arrays) for every element that this thread holds and that lies in
  /// [first, last) of the vector. j: the thread's register that holds it; k: its place in the block.
  template <class Member, class OfArrays, class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_held(const Member& member, const OfArrays& of, bool has_packs,
                                                 const Block& block, std::int64_t first, std::int64_t last,
                                                 const Function& function) const {
    KADAM_UNROLL
    for (int p = 0; p < Member::held_by_thread / pack_elements; ++p) {
      const std::int64_t of_pack = pack_elements * (member.rank() + p * member.threads());
      const std::int64_t begin = block.begin + of_pack;
      if (has_packs && first <= begin && begin + pack_elements <= last) {
        int q = 0;
        of.from(begin, [&](auto&... elements) {
          function(static_cast<int>(pack_elements) * p + q, of_pack + q, elements...);
          ++q;
        });
      } else {
        KADAM_UNROLL
        for (int q = 0; q < pack_elements; ++q) {
          if (begin + q < first || begin + q >= last) continue;
          of.at(begin + q, [&](auto&... elements) {
            function(static_cast<int>(pack_elements) * p + q, of_pack + q, elements...);
          });
        }
      }
    }
  }
};

/// m, v <- the moments, as float32.
template <class MemorySpace>
struct DecodeByteMoments {
  ByteMoments<MemorySpace> moments;
  Kokkos::View<float*, MemorySpace> m;
  Kokkos::View<float*, MemorySpace> v;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto block = moments.blocks.block(index);
    const float m_scale = moments.m_scales(index);
    const float v_scale = moments.v_scales(index);
    member.for_each(block.elements(), [&](const std::int64_t k) {
      const std::int64_t i = block.begin + k;
      m(i) = FirstMomentCode::decode(moments.m(i), m_scale);
      v(i) = SecondMomentCode::decode(moments.v(i), v_scale);
    });
  }
};

/// The moments <- m, v, with new scales, rounded to the nearest.
template <class MemorySpace>
struct EncodeByteMoments {
  ByteMoments<MemorySpace> moments;
  Kokkos::View<const float*, MemorySpace> m;
  Kokkos::View<const float*, MemorySpace> v;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto block = moments.blocks.block(index);
    const auto of_m = MomentScale::of(
        member.max(block.elements(), [&](const std::int64_t k) { return Kokkos::fabs(m(block.begin + k)); }));
    const auto of_v = MomentScale::of(
        member.max(block.elements(), [&](const std::int64_t k) { return v(block.begin + k); }));
    member.once([&] {
      moments.m_scales(index) = of_m.scale;
      moments.v_scales(index) = of_v.scale;
    });
    member.for_each(block.elements(), [&](const std::int64_t k) {
      const std::int64_t i = block.begin + k;
      moments.m(i) = FirstMomentCode::encode(m(i), of_m.inverse, ShareCode<7>::nearest);
      moments.v(i) = SecondMomentCode::encode(v(i), of_v.inverse, ShareCode<8>::nearest);
    });
  }
};

}  // namespace detail

/// Updates the elements of the blocks [first, last) in one pass: decodes their moments, calls
/// rule(x, m, v, gradient), with the copy as last argument if it exists, and encodes the new moments. Rule:
/// AdamStep, or BySegment with an AdamStepOf.
///
/// x is updated from the new moments before they are rounded. rounding: must differ from step to step; it
/// decides the random bits of ShareCode::encode().
/// Shape: x, gradient and copy have as many elements as moments. Memory: reads x, g, codes and writes x,
/// codes: 16 B per element, 14 B for a gradient of 16 bits; 2 B more for the copy; 16 B per block.
template <class Exec, class Rule, class MemorySpace>
void update_byte_moments(const Exec& exec, const Rule& rule, const ByteMoments<MemorySpace>& moments,
                         std::uint32_t rounding, std::int64_t first, std::int64_t last,
                         const Kokkos::View<float*, MemorySpace>& x,
                         const std::type_identity_t<Numbers<MemorySpace>>& gradient,
                         const HalfCopy<MemorySpace>& copy = {}) {
  const auto update = [&](const auto& arrays) {
    using Update = detail::UpdateByteMoments<Rule, MemorySpace, std::remove_cvref_t<decltype(arrays)>>;
    const bool are_aligned =
        arrays.are_aligned() && reads(moments.m).is_aligned() && reads(moments.v).is_aligned();
    detail::for_each_block<detail::MomentTeam>("kadam::update_byte_moments", exec, first, last,
                                               Update{rule, moments, rounding, arrays, are_aligned});
  };
  gradient.visit([&](const auto& g) {
    copy.visit([&](const auto& half) { update(detail::element_arrays(updates(x), reads(g), writes(half))); },
               [&] { update(detail::element_arrays(updates(x), reads(g))); });
  });
}

/// m, v <- the moments of all blocks, as float32. Memory: 10 B per element.
template <class Exec, class MemorySpace>
void decode_byte_moments(const Exec& exec, const ByteMoments<MemorySpace>& moments,
                         const Kokkos::View<float*, MemorySpace>& m,
                         const Kokkos::View<float*, MemorySpace>& v) {
  detail::for_each_block("kadam::decode_byte_moments", exec, 0,
                         static_cast<std::int64_t>(moments.m_scales.extent(0)),
                         detail::DecodeByteMoments<MemorySpace>{moments, m, v});
}

/// The moments <- m, v, with new scales, rounded to the nearest. The m and v that decode_byte_moments() has
/// written give the same codes and scales again, except for values below 2^-126. Memory: 10 B per element; a
/// block is read twice, the second time from cache.
template <class Exec, class MemorySpace>
void encode_byte_moments(const Exec& exec, const Kokkos::View<const float*, MemorySpace>& m,
                         const std::type_identity_t<Kokkos::View<const float*, MemorySpace>>& v,
                         const ByteMoments<MemorySpace>& moments) {
  detail::for_each_block("kadam::encode_byte_moments", exec, 0,
                         static_cast<std::int64_t>(moments.m_scales.extent(0)),
                         detail::EncodeByteMoments<MemorySpace>{moments, m, v});
}

}  // namespace kadam
