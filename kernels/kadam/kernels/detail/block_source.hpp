// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/code_tile.hpp>
#include <kadam/kernels/detail/held_codes.hpp>
#include <kadam/kernels/detail/with_format.hpp>
#include <kadam/kernels/segments.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// Sources of the input of a block that is encoded with error feedback.
///
/// compensate(), for one thread: adds the input to the errors h of the block, part by part, and calls
/// finish(first, length) for each part while it is still in cache. hold(), for a team: held[j] <- error +
/// input, for the elements that this thread holds from element `first` of the block on; the error is not
/// changed. One more source, the mean of messages, is in mean_of_messages.hpp.
namespace kadam::detail {

/// A source of input, element by element: error(i) <- load(i) + error(i).
template <class Load>
struct ElementSource {
  Load load;

  template <class Finish>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const HostBlockMember& member, const BlockMap::Block& block,
                                              float* h, const Finish& finish) const {
    member.for_each_part(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
      const std::int64_t first = block.first_element + in_block;
      float* const of_part = h + in_block;
      with_format(load, [&](const auto& typed_load) {
        member.for_each(count, [of_part, first, typed_load](const std::int64_t k) {
          of_part[k] += typed_load(first + k);
        });
      });
      finish(in_block, count);
    });
  }

  template <class Member, class Error>
  KOKKOS_FORCEINLINE_FUNCTION void hold(const Member& member, const BlockMap::Block& block,
                                        std::int64_t first, const Error& error, float* held) const {
    with_format(load, [&](const auto& typed_load) {
      member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
        const std::int64_t i = block.first_element + k;
        held[j] = error(i) + typed_load(i);
      });
    });
  }
};

/// Input that has been added to the error already.
struct AlreadyAdded {
  template <class Finish>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const HostBlockMember& member, const BlockMap::Block& block,
                                              float* /*h*/, const Finish& finish) const {
    member.for_each_part(block.elements, finish);
  }

  template <class Member, class Error>
  KOKKOS_FORCEINLINE_FUNCTION void hold(const Member& member, const BlockMap::Block& block,
                                        std::int64_t first, const Error& error, float* held) const {
    member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
      held[j] = error(block.first_element + k);
    });
  }
};

/// An input that continues the vector that `message` holds: error(i) <- load(i, decoded i) + error(i). A
/// block is read before its new codes are written. Load may be a LoadBySegment.
template <Quantiser Q, class Load, class MemorySpace>
struct ContinuedSource {
  Q quantiser;
  Load load;
  ConstWords<MemorySpace> message;

  template <class Finish>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const HostBlockMember& member, const BlockMap::Block& block,
                                              float* h, const Finish& finish) const {
    const float scale = scale_in<Q>(message, block.scale_word);
    member.for_each_part(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
      const std::int64_t first = block.first_element + in_block;
      const std::int64_t first_word = block.first_word + in_block / elements_per_word<Q>;
      float* const of_part = h + in_block;
      for_each_apply(
          load, first, first + count, [&](const auto& known, const std::int64_t from, const std::int64_t to) {
            if (to - from == count) {
              for_each_value(member, quantiser, &message(first_word), count, scale,
                             [of_part, first, known](const std::int64_t k, const float value) {
                               of_part[k] += known(first + k, value);
                             });
            } else {
              for (std::int64_t k = from - first; k < to - first; ++k) {
                of_part[k] += known(first + k, value_at(quantiser, &message(first_word), k, scale));
              }
            }
          });
      finish(in_block, count);
    });
  }

  template <class Member, class Error>
  KOKKOS_FORCEINLINE_FUNCTION void hold(const Member& member, const BlockMap::Block& block,
                                        std::int64_t first, const Error& error, float* held) const {
    const float scale = scale_in<Q>(message, block.scale_word);
    const HeldValues<Q, Member> said(member, quantiser, &message(block.first_word), first, scale);
    member.for_each_held(first, block.elements, [&](const int j, const std::int64_t) { held[j] = said[j]; });
    const std::int64_t begin = block.first_element + first;
    const std::int64_t end = block.first_element + Kokkos::min(first + member.held(), block.elements);
    for_each_apply(load, begin, end, [&](const auto& known, const std::int64_t from, const std::int64_t to) {
      const auto hold_element = [&](const int j, const std::int64_t k) {
        const std::int64_t i = block.first_element + k;
        held[j] = error(i) + known(i, held[j]);
      };
      if (!differs_by_segment<Load> || (from == begin && to == end)) {
        member.for_each_held(first, block.elements, hold_element);
      } else {
        member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
          const std::int64_t i = block.first_element + k;
          if (i >= from && i < to) hold_element(j, k);
        });
      }
    });
  }
};

}  // namespace kadam::detail
