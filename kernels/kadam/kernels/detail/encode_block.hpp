// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/active_mask.hpp>
#include <kadam/kernels/bfloat16_errors.hpp>
#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/block_source.hpp>
#include <kadam/kernels/detail/code_tile.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/detail/held_codes.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/kernels/quantiser.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace kadam::detail {

/// Encodes one block with error feedback: adds source and error, computes the scale, writes the codes to the
/// message and the rounding error to `error`. A block whose scale is 0 keeps no error: what is left of it is
/// too small to ever be sent. With a code without a scale, subnormal inputs become 0, one by one. Error: a
/// View of float, or Bfloat16Errors.
template <Quantiser Q, class Source, class MemorySpace, class Error>
struct EncodeBlock {
  Q quantiser;
  BlockMap map;
  Source source;
  ActiveMask<MemorySpace> active;
  Error error;
  Words<MemorySpace> message;

  /// One thread works in tiles that stay in cache. It computes all inputs first; they wait for the scale in
  /// `error`, or, if errors are short, in the innermost cache.
  KOKKOS_FUNCTION void operator()(const HostBlockMember& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    if constexpr (is_short) {
      float h[Error::longest_block];
      error.read(block, h);
      encode(member, block, h);
      error.write(block, h);
    } else {
      encode(member, block, error.data() + block.first_element);
    }
  }

  /// A team holds the inputs in registers until it knows the scale: the error is read once and written once.
  /// The inputs of a block longer than held() wait in `error`, or, if errors are short, in the team's memory.
  template <class Team>
  KOKKOS_FUNCTION void operator()(const TeamBlockMember<Team>& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    const HeldCodes<Q> codes(member);
    float* waiting = nullptr;
    if constexpr (is_short && !team_holds_inputs)
      waiting = member.template scratch<float>(Error::longest_block);
    if (block.elements == member.held() && active.all_active()) {
      encode(member.whole(), block, codes, waiting);
    } else {
      encode(member, block, codes, waiting);
    }
  }

  [[nodiscard]] static int scratch_bytes(int threads) {
    int bytes = HeldCodes<Q>::bytes(threads);
    if constexpr (is_short && !team_holds_inputs) {
      bytes += static_cast<int>(Error::longest_block * static_cast<std::int64_t>(sizeof(float))) + 8;
    }
    return bytes;
  }

 private:
  static constexpr bool is_short = !Kokkos::is_view_v<Error>;
  /// Whether a team holds every block with short errors in its registers: on a GPU.
  static constexpr bool team_holds_inputs = [] {
    if constexpr (is_short) return held_by_any_team >= Error::longest_block;
    return false;
  }();

  /// Whether a block with this scale says anything but 0.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION bool has_content(float scale) {
    return !Q::has_scale || scale != 0.0F;
  }

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void encode(const Member& member, const BlockMap::Block& block,
                                          const HeldCodes<Q>& codes, float* waiting) const {
    const bool waits = !Member::is_whole && block.elements > member.held();
    float held[held_elements];
    double statistic = 0.0;
    member.for_each_round(block.elements, [&](const std::int64_t first) {
      source.hold(member, block, first, error, held);
      silence_inactive(member, block, first, held);
      if constexpr (!Q::has_scale) {
        member.for_each_held(first, block.elements,
                             [&](const int j, const std::int64_t) { held[j] = flush_to_zero(held[j]); });
      }
      member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
        statistic = quantiser.accumulate(statistic, held[j]);
        if (waits) place_to_wait(block, k, waiting) = held[j];
      });
    });
    const float scale = scale_of_team(member, block, statistic);
    const bool keeps_error = has_content(scale);
    member.for_each_round(block.elements, [&](const std::int64_t first) {
      if (waits) {
        member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
          held[j] = place_to_wait(block, k, waiting);
        });
      }
      member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
        const std::int64_t i = block.first_element + k;
        const bool is_active = Member::is_whole || active(i);
        const std::uint32_t code = is_active ? quantiser.encode(held[j], scale) : 0U;
        codes.put(k - first, code);
        const float rest = is_active && keeps_error ? held[j] - quantiser.decode(code, scale) : 0.0F;
        if constexpr (is_short) {
          error.put(block, k, rest);
        } else {
          error(i) = rest;
        }
      });
      codes.write(member, Kokkos::min(member.held(), block.elements - first),
                  &message(block.first_word + first / elements_per_word<Q>));
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION float& place_to_wait(const BlockMap::Block& block, std::int64_t k,
                                                   float* waiting) const {
    if constexpr (is_short) {
      (void)block;
      return waiting[k];
    } else {
      (void)waiting;
      return error(block.first_element + k);
    }
  }

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void silence_inactive(const Member& member, const BlockMap::Block& block,
                                                    std::int64_t first, float* held) const {
    if (Member::is_whole || active.all_active()) return;
    member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
      if (!active(block.first_element + k)) held[j] = 0.0F;
    });
  }

  /// values[k] <- 0 where element first + k is inactive, by one thread. Only words with an inactive element
  /// cost anything.
  KOKKOS_FORCEINLINE_FUNCTION void silence_inactive(std::int64_t first, std::int64_t count,
                                                    float* values) const {
    if (active.all_active()) return;
    const CodesOfWord<SignQuantiser> bits;
    for (std::int64_t k = 0; k < count; k += 32) {
      const std::uint32_t activity = active.word(first + k);
      if (activity == ~0U) continue;
      with_count<32>(count - k, [&](const std::int64_t inside) {
        KADAM_SIMD
        for (std::int64_t e = 0; e < inside; ++e) {
          values[k + e] = bits.at(activity, e) != 0 ? values[k + e] : 0.0F;
        }
      });
    }
  }

  /// The codes of inactive elements among `count` from element `first` on, whose codes are in `words`, <- 0.
  KOKKOS_FORCEINLINE_FUNCTION void clear_inactive(std::int64_t first, std::int64_t count,
                                                  std::uint32_t* words) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    for (std::int64_t w = 0; w < words_holding<Q>(count); ++w) {
      const std::uint32_t activity = active.word(first + w * width);
      if constexpr (Q::bits == 1) {
        words[w] &= activity;
      } else {
        std::uint32_t kept = 0;
        for (unsigned e = 0; e < width; ++e) kept |= ((activity >> e) & 1U) << (e * Q::bits);
        words[w] &= kept * code_mask<Q>;
      }
    }
  }

  /// Computes the scale from the statistic of each thread and writes it to the message. When it returns, all
  /// threads have read their inputs, also those from a message that the new one overwrites.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION float scale_of_team(const Member& member, const BlockMap::Block& block,
                                                  double own) const {
    if constexpr (!Q::has_scale) {
      member.barrier();
      return 0.0F;
    } else {
      float scale = 0.0F;
      if constexpr (Q::reduces_by_max) {
        const float largest = member.max_of_threads(static_cast<float>(own));
        scale = quantiser.scale(static_cast<double>(largest), block.elements);
      } else {
        scale = quantiser.scale(member.sum_of_threads(own), active_in(member, block));
      }
      member.once([&] { message(block.scale_word) = Kokkos::bit_cast<std::uint32_t>(scale); });
      return scale;
    }
  }

  /// h: the errors of the block; the inputs replace them, then the new errors replace the inputs.
  KOKKOS_FORCEINLINE_FUNCTION void encode(const HostBlockMember& member, const BlockMap::Block& block,
                                          float* h) const {
    const float scale = compensate(member, block, h);
    if constexpr (Q::has_scale) message(block.scale_word) = Kokkos::bit_cast<std::uint32_t>(scale);
    pack(member, block, scale, h);
    if (!has_content(scale)) member.for_each(block.elements, [h](const std::int64_t k) { h[k] = 0.0F; });
  }

  /// h <- input + error. Returns the scale.
  KOKKOS_FORCEINLINE_FUNCTION float compensate(const HostBlockMember& member, const BlockMap::Block& block,
                                               float* h) const {
    using Statistic = std::conditional_t<Q::reduces_by_max, HostBlockMember::Max, HostBlockMember::Sum>;
    Statistic statistic;
    source.compensate(member, block, h, [&](const std::int64_t in_block, const std::int64_t count) {
      float* const of_part = h + in_block;
      prefetch_of_next(block, in_block, early_share(count));
      silence_inactive(block.first_element + in_block, count, of_part);
      if constexpr (Q::has_scale) {
        if constexpr (Q::reduces_by_max) {
          statistic.add(member, count, [of_part](const std::int64_t k) { return Kokkos::fabs(of_part[k]); });
        } else {
          const Q code = quantiser;
          statistic.accumulate(count, [of_part, code](const double partial, const std::int64_t k) {
            return code.accumulate(partial, of_part[k]);
          });
        }
      } else {
        member.for_each(count, [of_part](const std::int64_t k) { of_part[k] = flush_to_zero(of_part[k]); });
      }
    });
    if constexpr (!Q::has_scale) return 0.0F;
    const std::int64_t counted = Q::reduces_by_max ? block.elements : active_in(member, block);
    return quantiser.scale(static_cast<double>(statistic.value(member)), counted);
  }

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t active_in(const Member& member,
                                                     const BlockMap::Block& block) const {
    if (active.all_active()) return block.elements;
    const std::int64_t words = (block.elements + 31) / 32;
    const auto active_in_word = [&](const std::int64_t w) {
      const std::int64_t left = block.elements - 32 * w;
      const std::uint32_t inside = left >= 32 ? ~0U : (1U << static_cast<unsigned>(left)) - 1U;
      return static_cast<double>(Kokkos::popcount(active.word(block.first_element + 32 * w) & inside));
    };
    if constexpr (Member::is_one_thread) {
      return static_cast<std::int64_t>(member.sum(words, active_in_word));
    } else {
      // A word or two of each thread: sum() would ask for more at a time, and for their registers.
      const double own = member.template fold<1>(0.0, words, active_in_word,
                                                 [](double so_far, double value) { return so_far + value; });
      return static_cast<std::int64_t>(member.sum_of_threads(own));
    }
  }

  /// Writes the codes of h to the message; h <- the rounding error.
  KOKKOS_FORCEINLINE_FUNCTION void pack(const HostBlockMember& member, const BlockMap::Block& block,
                                        float scale, float* h) const {
    member.for_each_part(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
      const std::int64_t first = block.first_element + in_block;
      prefetch_of_next(block, in_block + early_share(count), count - early_share(count));
      std::uint32_t* const words = &message(block.first_word + in_block / elements_per_word<Q>);
      encode_tile(quantiser, h + in_block, count, scale, words);
      if (!active.all_active_in(first, count)) {
        silence_inactive(first, count, h + in_block);
        clear_inactive(first, count, words);
      }
    });
  }

  /// Returns the number of elements of the next block that the first pass prefetches for a part of `count`;
  /// the second pass prefetches the rest, because a core has only so many lines under way. Short errors take
  /// two passes more, which prefetch nothing. The shares are the best of those that were measured.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t early_share(std::int64_t count) {
    return is_short ? count * 3 / 4 : count / 2;
  }

  /// Whether the source computes for longer than memory takes.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool waits_for_arithmetic() const {
    if constexpr (requires { source.waits_for_arithmetic(); }) return source.waits_for_arithmetic();
    return false;
  }

  /// Prefetches elements [in_block, in_block + count) of the block after `block`.
  KOKKOS_FORCEINLINE_FUNCTION void prefetch_of_next(const BlockMap::Block& block, std::int64_t in_block,
                                                    std::int64_t count) const {
    const std::int64_t first = block.first_element + block.elements + in_block;
    if (first + count > map.elements) return;
    if (waits_for_arithmetic()) {
      prefetch(error.data() + first, count);
    } else {
      prefetch_stream(error.data() + first, count);
    }
    if constexpr (requires { source.load.prefetch(first, count); }) source.load.prefetch(first, count);
  }
};

}  // namespace kadam::detail
