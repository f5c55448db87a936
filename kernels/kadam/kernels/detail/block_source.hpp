// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/code_tile.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/detail/held_codes.hpp>
#include <kadam/kernels/detail/with_format.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// Sources of the input of a block that is encoded with error feedback.
///
/// compensate(), by one thread: adds the input to the error, part by part, and calls finish(first, length)
/// for each part while it is still in cache. hold(), by a team: held[j] <- error + input of the elements that
/// this thread holds from element `first` of the block on; the error stays as it is.
namespace kadam::detail {

/// A source of input, element by element: error(i) <- load(i) + error(i).
template <class Load>
struct ElementSource {
  Load load;

  template <class ErrorView, class Finish>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const HostBlockMember& member, const BlockMap::Block& block,
                                              const ErrorView& error, const Finish& finish) const {
    member.for_each_part(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
      const std::int64_t first = block.first_element + in_block;
      with_format(load, [&](const auto& typed_load) {
        member.for_each(count, [&](const std::int64_t k) { error(first + k) += typed_load(first + k); });
      });
      finish(in_block, count);
    });
  }

  template <class Member, class ErrorView>
  KOKKOS_FORCEINLINE_FUNCTION void hold(const Member& member, const BlockMap::Block& block,
                                        std::int64_t first, const ErrorView& error, float* held) const {
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
  template <class ErrorView, class Finish>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const HostBlockMember& member, const BlockMap::Block& block,
                                              const ErrorView& /*error*/, const Finish& finish) const {
    member.for_each_part(block.elements, finish);
  }

  template <class Member, class ErrorView>
  KOKKOS_FORCEINLINE_FUNCTION void hold(const Member& member, const BlockMap::Block& block,
                                        std::int64_t first, const ErrorView& error, float* held) const {
    member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
      held[j] = error(block.first_element + k);
    });
  }
};

/// An input that goes on from what the message said before: error(i) <- load(i, decoded i) + error(i). A
/// block is read before its new codes are written.
template <Quantiser Q, class Load, class MemorySpace>
struct ContinuedSource {
  Q quantiser;
  Load load;
  ConstWords<MemorySpace> message;

  template <class ErrorView, class Finish>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const HostBlockMember& member, const BlockMap::Block& block,
                                              const ErrorView& error, const Finish& finish) const {
    const float scale = Q::has_scale ? number_in(message(block.scale_word)) : 0.0F;
    member.for_each_part(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
      const std::int64_t first = block.first_element + in_block;
      const std::int64_t first_word = block.first_word + in_block / elements_per_word<Q>;
      with_format(load, [&](const auto& typed_load) {
        for_each_value(member, quantiser, &message(first_word), count, scale,
                       [&](const std::int64_t k, const float value) {
                         error(first + k) += typed_load(first + k, value);
                       });
      });
      finish(in_block, count);
    });
  }

  template <class Member, class ErrorView>
  KOKKOS_FORCEINLINE_FUNCTION void hold(const Member& member, const BlockMap::Block& block,
                                        std::int64_t first, const ErrorView& error, float* held) const {
    const float scale = Q::has_scale ? number_in(message(block.scale_word)) : 0.0F;
    const HeldValues<Q, Member> said(member, quantiser, &message(block.first_word), first, scale);
    member.for_each_held(first, block.elements, [&](const int j, const std::int64_t) { held[j] = said[j]; });
    with_format(load, [&](const auto& typed_load) {
      member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
        const std::int64_t i = block.first_element + k;
        held[j] = error(i) + typed_load(i, held[j]);
      });
    });
  }
};

/// The mean of the messages of all ranks: error(i) <- (1/n) sum_r decode(message r, i) + error(i), in rank
/// order.
template <Quantiser Q, class MemorySpace>
struct MeanOfMessages {
  Q quantiser;
  ConstWords<MemorySpace> messages;
  std::int64_t ranks;
  std::int64_t stride_words;  ///< between the messages of consecutive ranks
  float inverse_ranks;

  template <class ErrorView, class Finish>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const HostBlockMember& member, const BlockMap::Block& block,
                                              const ErrorView& error, const Finish& finish) const {
    member.for_each_part(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
      float* const of_part = &error(block.first_element + in_block);
      const std::int64_t first_word = block.first_word + in_block / elements_per_word<Q>;
      if constexpr (shares_bytes<Q>) {
        add_mean_of_tile(member, block.scale_word, first_word, count, of_part);
      } else {
        add_mean_of_words(member, block.scale_word, first_word, count, of_part);
      }
      finish(in_block, count);
    });
  }

  template <class Member, class ErrorView>
  KOKKOS_FORCEINLINE_FUNCTION void hold(const Member& member, const BlockMap::Block& block,
                                        std::int64_t first, const ErrorView& error, float* held) const {
    hold_mean(member, block, first, held);
    member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
      held[j] += error(block.first_element + k);
    });
  }

  /// The mean alone.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void hold_mean(const Member& member, const BlockMap::Block& block,
                                             std::int64_t first, float* held) const {
    member.for_each_held(first, block.elements, [&](const int j, const std::int64_t) { held[j] = 0.0F; });
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t* message = messages.data() + rank * stride_words;
      const HeldValues<Q, Member> said(member, quantiser, message + block.first_word, first,
                                       scale_of(message, block.scale_word));
      member.for_each_held(first, block.elements,
                           [&](const int j, const std::int64_t) { held[j] += said[j]; });
    }
    member.for_each_held(first, block.elements,
                         [&](const int j, const std::int64_t) { held[j] *= inverse_ranks; });
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION float scale_of(const std::uint32_t* message, std::int64_t scale_word) const {
    return Q::has_scale ? number_in(message[scale_word]) : 0.0F;
  }

  /// Word by word: the sums of its elements stay in registers.
  KOKKOS_FORCEINLINE_FUNCTION void add_mean_of_words(const HostBlockMember& member, std::int64_t scale_word,
                                                     std::int64_t first_word, std::int64_t count,
                                                     float* KOKKOS_RESTRICT error) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    const CodesOfWord<Q> codes;
    member.for_each((count + width - 1) / width, [&](const std::int64_t w) {
      float sum[width] = {};
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const std::uint32_t* message = messages.data() + rank * stride_words;
        const float scale = scale_of(message, scale_word);
        const std::uint32_t word = message[first_word + w];
        KADAM_SIMD
        for (std::int64_t e = 0; e < width; ++e) sum[e] += quantiser.decode(codes.at(word, e), scale);
      }
      with_count<width>(count - w * width, [&](const std::int64_t inside) {
        KADAM_SIMD
        for (std::int64_t e = 0; e < inside; ++e) error[w * width + e] += sum[e] * inverse_ranks;
      });
    });
  }

  /// Message by message: several codes share a byte, and are unpacked for the whole tile.
  KOKKOS_FORCEINLINE_FUNCTION void add_mean_of_tile(const HostBlockMember& member, std::int64_t scale_word,
                                                    std::int64_t first_word, std::int64_t count,
                                                    float* KOKKOS_RESTRICT error) const {
    float sum[tile_elements] = {};
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t* message = messages.data() + rank * stride_words;
      for_each_value(member, quantiser, message + first_word, count, scale_of(message, scale_word),
                     [&](const std::int64_t k, const float value) { sum[k] += value; });
    }
    KADAM_SIMD
    for (std::int64_t k = 0; k < count; ++k) error[k] += sum[k] * inverse_ranks;
  }
};

}  // namespace kadam::detail
