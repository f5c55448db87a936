// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/active_mask.hpp>
#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/code_tile.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/detail/with_format.hpp>
#include <kadam/kernels/quantiser.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// Calls apply with the values of those elements of one block that lie in [begin, end).
template <Quantiser Q, class Apply, class MemorySpace>
struct DecodeBlock {
  Q quantiser;
  BlockMap map;
  ConstWords<MemorySpace> message;
  ActiveMask<MemorySpace> active;
  std::int64_t begin;
  std::int64_t end;
  Apply apply;

  /// By one thread, in tiles, or word by word where not all of one is wanted.
  KOKKOS_FUNCTION void operator()(const HostBlockMember& member, const std::int64_t index) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    const BlockMap::Block block = map.block(index);
    const float scale = scale_of(block);
    member.for_each_part(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
      const std::int64_t first = block.first_element + in_block;
      const std::int64_t first_word = in_block / width;
      with_format(apply, [&](const auto& typed_apply) {
        if (first >= begin && first + count <= end && active.all_active_in(first, count)) {
          for_each_value(member, quantiser, &message(block.first_word + first_word), count, scale,
                         [&](const std::int64_t k, const float value) { typed_apply(first + k, value); });
        } else {
          member.for_each((count + width - 1) / width, [&](const std::int64_t w) {
            decode_word(typed_apply, block, first_word + w, scale);
          });
        }
      });
    });
  }

  /// By a team, element by element: threads that share a word read it together.
  template <class Team>
  KOKKOS_FUNCTION void operator()(const TeamBlockMember<Team>& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    const float scale = scale_of(block);
    const std::int64_t skipped = Kokkos::max(std::int64_t{0}, begin - block.first_element);
    const std::int64_t wanted = Kokkos::min(block.elements, end - block.first_element) - skipped;
    with_format(apply, [&](const auto& typed_apply) {
      member.for_each(wanted, [&](const std::int64_t k) {
        const std::int64_t in_block = skipped + k;
        const std::int64_t i = block.first_element + in_block;
        if (active(i)) {
          typed_apply(i, value_at(quantiser, &message(block.first_word), in_block, scale));
        } else {
          leave(typed_apply, i);
        }
      });
    });
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float scale_of(const BlockMap::Block& block) const {
    return Q::has_scale ? Kokkos::bit_cast<float>(message(block.scale_word)) : 0.0F;
  }

  /// What becomes of an inactive element.
  template <class TypedApply>
  KOKKOS_FORCEINLINE_FUNCTION static void leave(const TypedApply& typed_apply, const std::int64_t i) {
    if constexpr (requires { typed_apply.inactive(i); }) typed_apply.inactive(i);
  }

  template <class TypedApply>
  KOKKOS_FORCEINLINE_FUNCTION void decode_word(const TypedApply& typed_apply, const BlockMap::Block& block,
                                               std::int64_t w, float scale) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    const std::int64_t first = block.first_element + w * width;
    const std::uint32_t word = message(block.first_word + w);
    const std::uint32_t activity = active.word(first);
    const std::int64_t length = Kokkos::min(width, block.elements - w * width);
    if (length == width && activity == ~0U && first >= begin && first + width <= end) {
      for (std::int64_t e = 0; e < width; ++e) {
        typed_apply(first + e, quantiser.decode(code_at<Q>(word, e), scale));
      }
      return;
    }
    for (std::int64_t e = 0; e < length; ++e) {
      const std::int64_t i = first + e;
      if (i < begin || i >= end) continue;
      if (((activity >> static_cast<unsigned>(e)) & 1U) != 0) {
        typed_apply(i, quantiser.decode(code_at<Q>(word, e), scale));
      } else {
        leave(typed_apply, i);
      }
    }
  }
};

}  // namespace kadam::detail
