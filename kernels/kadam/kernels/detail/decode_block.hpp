// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/active_mask.hpp>
#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/code_tile.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/detail/held_codes.hpp>
#include <kadam/kernels/quantiser.hpp>
#include <kadam/kernels/segments.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// Calls apply(i, value) for the elements of one block that lie in [begin, end).
template <Quantiser Q, class Apply, class MemorySpace>
struct DecodeBlock {
  Q quantiser;
  BlockMap map;
  ConstWords<MemorySpace> message;
  ActiveMask<MemorySpace> active;
  std::int64_t begin;
  std::int64_t end;
  Apply apply;

  /// One thread works in tiles. In a tile that begins before the wanted elements, or has an inactive element,
  /// it decodes all values first, then updates runs of elements that are alike.
  KOKKOS_FUNCTION void operator()(const HostBlockMember& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    const float scale = scale_in<Q>(message, block.scale_word);
    for_each_apply(apply, first_wanted(block), end_wanted(block),
                   [&](const auto& known, const std::int64_t from, const std::int64_t to) {
                     decode_tiles(member, known, block, scale, from, to);
                   });
  }

  /// A team works element by element; threads whose elements share a word read it together.
  template <class Team>
  KOKKOS_FUNCTION void operator()(const TeamBlockMember<Team>& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    const float scale = scale_in<Q>(message, block.scale_word);
    for_each_apply(
        apply, first_wanted(block), end_wanted(block),
        [&](const auto& known, const std::int64_t from, const std::int64_t to) {
          if (to - from == member.held() && block.elements == member.held() && active.all_active()) {
            decode_whole(member.whole(), known, block, scale);
          } else {
            decode_some(member, known, block, scale, from, to);
          }
        });
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_wanted(const BlockMap::Block& block) const {
    return Kokkos::max(begin, block.first_element);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t end_wanted(const BlockMap::Block& block) const {
    return Kokkos::min(end, block.first_element + block.elements);
  }

  /// If the update has load() and store(), a thread loads several elements before it stores the first: their
  /// loads are under way at the same time.
  template <class Member, class TypedApply>
  KOKKOS_FORCEINLINE_FUNCTION void decode_whole(const Member& member, const TypedApply& typed_apply,
                                                const BlockMap::Block& block, float scale) const {
    const HeldValues<Q, Member> said(member, quantiser, &message(block.first_word), 0, scale);
    if constexpr (requires { typed_apply.load(block.first_element); }) {
      constexpr int together = 8;
      const std::int64_t own = block.first_element + member.rank();
      decltype(typed_apply.load(own)) loaded[together];
      std::uint32_t words[together];
      KADAM_UNROLL
      for (int first = 0; first < Member::held_by_thread; first += together) {
        KADAM_UNROLL
        for (int j = 0; j < together; ++j) {
          loaded[j] = typed_apply.load(own + (first + j) * member.threads());
          words[j] = said.word(first + j);
        }
        KADAM_UNROLL
        for (int j = 0; j < together; ++j) {
          const float value = said.decode(first + j, words[j]);
          typed_apply.store(own + (first + j) * member.threads(), value, loaded[j]);
        }
      }
    } else {
      member.for_each_held(0, block.elements, [&](const int j, const std::int64_t k) {
        typed_apply(block.first_element + k, said[j]);
      });
    }
  }

  /// Decodes the elements [from, to) one by one.
  template <class Member, class TypedApply>
  KOKKOS_FORCEINLINE_FUNCTION void decode_some(const Member& member, const TypedApply& typed_apply,
                                               const BlockMap::Block& block, float scale, std::int64_t from,
                                               std::int64_t to) const {
    member.for_each(to - from, [&](const std::int64_t k) {
      const std::int64_t i = from + k;
      if (active(i)) {
        typed_apply(i, value_at(quantiser, &message(block.first_word), i - block.first_element, scale));
      } else {
        leave(typed_apply, i);
      }
    });
  }

  /// Decodes the elements [from, to) of a block in tiles.
  template <class TypedApply>
  KOKKOS_FORCEINLINE_FUNCTION void decode_tiles(const HostBlockMember& member, const TypedApply& typed_apply,
                                                const BlockMap::Block& block, float scale, std::int64_t from,
                                                std::int64_t to) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    const std::int64_t skipped = (from - block.first_element) / tile_elements * tile_elements;
    const std::int64_t wanted = to - block.first_element - skipped;
    member.for_each_part(wanted, [&](const std::int64_t in_wanted, const std::int64_t count) {
      const std::int64_t in_block = skipped + in_wanted;
      const std::int64_t first = block.first_element + in_block;
      const std::uint32_t* const words = &message(block.first_word + in_block / width);
      const TypedApply known = typed_apply;  // no store can change a copy, so its factors stay in registers
      if (first >= from && active.all_active_in(first, count)) {
        for_each_value(member, quantiser, words, count, scale,
                       [&](const std::int64_t k, const float value) { known(first + k, value); });
      } else {
        float values[tile_elements];
        for_each_value(member, quantiser, words, count, scale,
                       [&values](const std::int64_t k, const float value) { values[k] = value; });
        decode_runs(member, known, values, first, Kokkos::max(first, from), first + count);
      }
    });
  }

  /// Updates the elements [from, to) run by run; values[0] is that of element `first`.
  template <class TypedApply>
  KOKKOS_FORCEINLINE_FUNCTION void decode_runs(const HostBlockMember& member, const TypedApply& typed_apply,
                                               const float* values, std::int64_t first, std::int64_t from,
                                               std::int64_t to) const {
    while (from < to) {
      const std::int64_t length = active.run_from(from, to - from);
      if (active(from)) {
        const float* const of_run = values + (from - first);
        member.for_each(length, [&](const std::int64_t k) { typed_apply(from + k, of_run[k]); });
      } else {
        member.for_each(length, [&](const std::int64_t k) { leave(typed_apply, from + k); });
      }
      from += length;
    }
  }

  /// Calls the update for an inactive element, if it has such a function.
  template <class TypedApply>
  KOKKOS_FORCEINLINE_FUNCTION static void leave(const TypedApply& typed_apply, const std::int64_t i) {
    if constexpr (requires { typed_apply.inactive(i); }) typed_apply.inactive(i);
  }
};

}  // namespace kadam::detail
