// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_map.hpp>
#include <kadam/kernels/detail/code_tile.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// Where the input of a block comes from that is encoded with error feedback: each adds its own to the error.
namespace kadam::detail {

/// A source of input, element by element: error(i) <- load(i) + error(i).
template <class Load>
struct ElementSource {
  Load load;
  template <class Member, class ErrorView>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const Member& member, const BlockMap::Block& block,
                                              const ErrorView& error) const {
    const std::int64_t first = block.first_element;
    member.for_each(block.elements, [&](const std::int64_t k) { error(first + k) += load(first + k); });
  }
};

/// Input that has been added to the error already.
struct AlreadyAdded {
  template <class Member, class ErrorView>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const Member& /*member*/, const BlockMap::Block& /*block*/,
                                              const ErrorView& /*error*/) const {}
};

/// An input that goes on from what the message said before: error(i) <- load(i, decoded i) + error(i). A
/// block is read before its new codes are written.
template <Quantiser Q, class Load, class MemorySpace>
struct ContinuedSource {
  Q quantiser;
  Load load;
  ConstWords<MemorySpace> message;

  template <class Member, class ErrorView>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const Member& member, const BlockMap::Block& block,
                                              const ErrorView& error) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    const float scale = Q::has_scale ? Kokkos::bit_cast<float>(message(block.scale_word)) : 0.0F;
    if constexpr (Member::is_one_thread && has_tiles<Q>) {
      for_each_tile(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
        float value[tile_elements];
        decode_tile(quantiser, &message(block.first_word + in_block / width), count, scale, value);
        const std::int64_t first = block.first_element + in_block;
        member.for_each(count, [&](const std::int64_t k) { error(first + k) += load(first + k, value[k]); });
      });
    } else {
      member.for_each((block.elements + width - 1) / width, [&](const std::int64_t w) {
        const std::int64_t first = block.first_element + w * width;
        const std::uint32_t word = message(block.first_word + w);
        with_count<width>(block.elements - w * width, [&](const std::int64_t count) {
          for (std::int64_t e = 0; e < count; ++e) {
            error(first + e) += load(first + e, quantiser.decode(code_at<Q>(word, e), scale));
          }
        });
      });
    }
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

  template <class Member, class ErrorView>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const Member& member, const BlockMap::Block& block,
                                              const ErrorView& error) const {
    if constexpr (Member::is_one_thread && has_tiles<Q>) {
      for_each_tile(block.elements, [&](const std::int64_t first, const std::int64_t count) {
        add_mean_of_tile(block, first, count, &error(block.first_element + first));
      });
      return;
    }
    constexpr std::int64_t width = elements_per_word<Q>;
    member.for_each((block.elements + width - 1) / width, [&](const std::int64_t w) {
      const std::int64_t first = block.first_element + w * width;
      with_count<width>(block.elements - w * width, [&](const std::int64_t count) {
        float sum[width] = {};
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          const std::int64_t message = rank * stride_words;
          const float scale =
              Q::has_scale ? Kokkos::bit_cast<float>(messages(message + block.scale_word)) : 0.0F;
          const std::uint32_t word = messages(message + block.first_word + w);
          for (std::int64_t e = 0; e < count; ++e) sum[e] += quantiser.decode(code_at<Q>(word, e), scale);
        }
        for (std::int64_t e = 0; e < count; ++e) error(first + e) += sum[e] * inverse_ranks;
      });
    });
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void add_mean_of_tile(const BlockMap::Block& block, std::int64_t first,
                                                    std::int64_t count, float* KOKKOS_RESTRICT error) const {
    float sum[tile_elements] = {};
    float value[tile_elements];
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t* message = messages.data() + rank * stride_words;
      const float scale = Kokkos::bit_cast<float>(message[block.scale_word]);
      decode_tile(quantiser, message + block.first_word + first / elements_per_word<Q>, count, scale, value);
      KADAM_SIMD
      for (std::int64_t k = 0; k < count; ++k) sum[k] += value[k];
    }
    KADAM_SIMD
    for (std::int64_t k = 0; k < count; ++k) error[k] += sum[k] * inverse_ranks;
  }
};

}  // namespace kadam::detail
