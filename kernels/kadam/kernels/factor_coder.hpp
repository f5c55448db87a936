// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/quantiser.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// Encodes, reduces and decodes the thin factors of low_rank_matrix.hpp. The vector of factors consists of
/// the columns of the factors of all matrices, one after the other; a block ends where a column or a chunk
/// ends. Factors are short, so each kernel is one launch for all blocks. Q is a code whose scale follows from
/// the largest magnitude of a block, or the identity.
namespace kadam {

/// The elements of one column that lie in one chunk and share a scale; and the place of their scale and codes
/// in the messages of all chunks.
struct FactorBlock {
  std::int64_t first_element = 0;  ///< in the vector of factors
  std::int64_t elements = 0;
  std::int64_t first_word = 0;  ///< word of the scale, if the code has one; the codes follow
};

/// Places of the partial sums of a block: part s of element k of the block is sums(first + s stride + k), for
/// s in [0, count).
struct FactorParts {
  std::int64_t first = 0;
  std::int64_t stride = 0;
  std::int64_t count = 0;
};

template <class MemorySpace>
using FactorBlocks = Kokkos::View<const FactorBlock*, MemorySpace>;

namespace detail {

/// Encodes the `count` values of a block into words from first_word on; values <- their decoded codes.
template <Quantiser Q, class Member, class MemorySpace>
KOKKOS_FORCEINLINE_FUNCTION void encode_factor_block(const Member& member, const Q& quantiser,
                                                     float* const values, std::int64_t count,
                                                     const Words<MemorySpace>& words,
                                                     std::int64_t first_word) {
  float scale = 0.0F;
  if constexpr (Q::has_scale) {
    const float largest = member.max(count, [&](const std::int64_t k) { return Kokkos::fabs(values[k]); });
    scale = quantiser.scale(static_cast<double>(largest), count);
    member.once([&] { words(first_word) = Kokkos::bit_cast<std::uint32_t>(scale); });
  }
  constexpr std::int64_t width = elements_per_word<Q>;
  const std::int64_t first_code = first_word + (Q::has_scale ? 1 : 0);
  member.for_each(words_holding<Q>(count), [&](const std::int64_t w) {
    std::uint32_t word = 0;
    for (std::int64_t e = 0; e < Kokkos::min(std::int64_t{width}, count - w * width); ++e) {
      float& value = values[w * width + e];
      const std::uint32_t code = quantiser.encode(value, scale);
      value = quantiser.decode(code, scale);
      word |= code << static_cast<unsigned>(e * Q::bits);
    }
    words(first_code + w) = word;
  });
}

/// Decodes element k of a block that begins at word first_word of `words`.
template <Quantiser Q, class View>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float factor_value(const Q& quantiser, const View& words,
                                                             std::int64_t first_word, std::int64_t k) {
  if constexpr (Q::has_scale) {
    return value_at(quantiser, &words(first_word + 1), k, number_in(words(first_word)));
  } else {
    return value_at(quantiser, &words(first_word), k, 0.0F);
  }
}

template <Quantiser Q, class MemorySpace>
struct EncodeFactors {
  Q quantiser;
  FactorBlocks<MemorySpace> blocks;
  Kokkos::View<const FactorParts*, MemorySpace> parts;
  Kokkos::View<const double*, MemorySpace> sums;
  Kokkos::View<float*, MemorySpace> values;
  Words<MemorySpace> messages;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const FactorBlock block = blocks(index);
    const FactorParts part = parts(index);
    float* const own = values.data() + block.first_element;
    member.for_each(block.elements, [&](const std::int64_t k) {
      double sum = 0.0;
      for (std::int64_t s = 0; s < part.count; ++s) sum += sums(part.first + s * part.stride + k);
      own[k] = static_cast<float>(sum);
    });
    encode_factor_block(member, quantiser, own, block.elements, messages, block.first_word);
  }
};

template <Quantiser Q, class MemorySpace>
struct ReduceFactors {
  Q quantiser;
  FactorBlocks<MemorySpace> blocks;
  std::int64_t first_word;     ///< of the own chunk, in the messages of all chunks
  std::int64_t first_element;  ///< of the own chunk
  std::int64_t ranks;
  std::int64_t stride_words;
  ConstWords<MemorySpace> received;
  Kokkos::View<float*, MemorySpace> means;
  Kokkos::View<float*, MemorySpace> own;
  Words<MemorySpace> replies;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const FactorBlock block = blocks(index);
    const std::int64_t word = block.first_word - first_word;
    const auto inverse = static_cast<float>(1.0 / static_cast<double>(ranks));
    const auto mean = [&](const std::int64_t k) {
      float sum = factor_value(quantiser, received, word, k);
      for (std::int64_t r = 1; r < ranks; ++r)
        sum += factor_value(quantiser, received, r * stride_words + word, k);
      return sum * inverse;
    };
    float* const values = means.data() + (block.first_element - first_element);
    member.for_each(block.elements, [&](const std::int64_t k) { values[k] = mean(k); });
    encode_factor_block(member, quantiser, values, block.elements, replies, block.first_word);
    if (own.extent(0) == 0) return;
    member.for_each(block.elements, [&](const std::int64_t k) {
      own(block.first_element + k) -= static_cast<float>(ranks) * (mean(k) - values[k]);
    });
  }
};

template <Quantiser Q, class MemorySpace>
struct DecodeFactors {
  Q quantiser;
  FactorBlocks<MemorySpace> blocks;
  ConstWords<MemorySpace> messages;
  Kokkos::View<float*, MemorySpace> out;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const FactorBlock block = blocks(index);
    member.for_each(block.elements, [&](const std::int64_t k) {
      out(block.first_element + k) = factor_value(quantiser, messages, block.first_word, k);
    });
  }
};

}  // namespace detail

/// Adds up the partial sums of each element, in order and in double, and rounds once to float32; messages <-
/// the codes of these values; values <- the decoded codes.
///
/// Shape: parts has one entry per block; blocks do not overlap; values has all factors, messages the words of
/// all chunks. Memory: 8 B per partial sum, 4 B + bits/8 per element.
template <class Exec, Quantiser Q, class MemorySpace>
void encode_factors(const Exec& exec, const Q& quantiser, const FactorBlocks<MemorySpace>& blocks,
                    const Kokkos::View<const FactorParts*, MemorySpace>& parts,
                    const Kokkos::View<const double*, MemorySpace>& sums,
                    const Kokkos::View<float*, MemorySpace>& values, const Words<MemorySpace>& messages) {
  detail::for_each_block(
      "kadam::encode_factors", exec, 0, static_cast<std::int64_t>(blocks.extent(0)),
      detail::EncodeFactors<Q, MemorySpace>{quantiser, blocks, parts, sums, values, messages});
}

/// The messages of all ranks, in rank order, for the own chunk, which has the blocks [first, last).
template <class MemorySpace>
struct ReceivedFactors {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t first_word = 0;     ///< of the own chunk, in the messages of all chunks
  std::int64_t first_element = 0;  ///< of the own chunk
  int ranks = 1;
  std::int64_t stride_words = 0;  ///< between the messages of consecutive ranks
  ConstWords<MemorySpace> words;
};

/// Decodes the messages of all ranks and takes their mean, in rank order and in float32; replies <- the codes
/// of the mean; means <- the decoded codes. own: empty, or the decoded codes of this rank (`values` of
/// encode_factors()). Then own(i) <- own(i) - n (mean - decoded code) in the own chunk, so that the mean of
/// own over the ranks equals the decoded replies.
///
/// Shape: means [own chunk]; replies has the words of all chunks, of which the own chunk's are written; own
/// has all factors. Memory: (ranks + 1) bits/8 + 4 B per element, and with own 8 B and the messages once
/// more.
template <class Exec, Quantiser Q, class MemorySpace>
void reduce_factors(const Exec& exec, const Q& quantiser, const FactorBlocks<MemorySpace>& blocks,
                    const ReceivedFactors<MemorySpace>& received,
                    const Kokkos::View<float*, MemorySpace>& means,
                    const Kokkos::View<float*, MemorySpace>& own, const Words<MemorySpace>& replies) {
  detail::for_each_block("kadam::reduce_factors", exec, received.first, received.last,
                         detail::ReduceFactors<Q, MemorySpace>{
                             quantiser, blocks, received.first_word, received.first_element, received.ranks,
                             received.stride_words, received.words, means, own, replies});
}

/// out(i) <- the value of factor element i, decoded from the messages of all chunks. Memory: 4 B + bits/8 per
/// element.
template <class Exec, Quantiser Q, class MemorySpace>
void decode_factors(const Exec& exec, const Q& quantiser, const FactorBlocks<MemorySpace>& blocks,
                    const ConstWords<MemorySpace>& messages, const Kokkos::View<float*, MemorySpace>& out) {
  detail::for_each_block("kadam::decode_factors", exec, 0, static_cast<std::int64_t>(blocks.extent(0)),
                         detail::DecodeFactors<Q, MemorySpace>{quantiser, blocks, messages, out});
}

}  // namespace kadam
