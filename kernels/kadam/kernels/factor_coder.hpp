// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/quantiser.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// The codes of factors: columns of many matrices, one after the other, in blocks that end where a column or
/// a chunk ends. Factors are short, so these kernels have a launch each for all blocks.
namespace kadam {

/// Elements of one column in one chunk, which share a scale; and where the scale and the codes lie among the
/// messages of all chunks.
struct FactorBlock {
  std::int64_t first_element = 0;
  std::int64_t elements = 0;
  std::int64_t first_word = 0;  ///< the scale, if there is one; codes follow
};

/// Where the parts of the elements of a block lie: part s of its element k at first + s stride + k.
struct FactorParts {
  std::int64_t first = 0;
  std::int64_t stride = 0;
  std::int64_t count = 0;
};

template <class MemorySpace>
using FactorBlocks = Kokkos::View<const FactorBlock*, MemorySpace>;

namespace detail {

/// Codes `count` values that lie in `values`; leaves there what the codes say. Shape: all of a block.
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
  member.for_each((count + width - 1) / width, [&](const std::int64_t w) {
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

/// Element k of a block, from a message in which the block begins at this word.
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
  std::int64_t first_word;     ///< of the own chunk, among the messages of all
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

/// values(i) <- the sum of its parts, in order and in double, rounded once; messages <- their codes;
/// values(i)
/// <- what these say.
///
/// Shape: parts has an entry for each block; blocks do not overlap.
template <class Exec, Quantiser Q, class MemorySpace>
void encode_factors(const Exec& exec, const Q& quantiser, const FactorBlocks<MemorySpace>& blocks,
                    const Kokkos::View<const FactorParts*, MemorySpace>& parts,
                    const Kokkos::View<const double*, MemorySpace>& sums,
                    const Kokkos::View<float*, MemorySpace>& values, const Words<MemorySpace>& messages) {
  detail::for_each_block(
      "kadam::encode_factors", exec, 0, static_cast<std::int64_t>(blocks.extent(0)),
      detail::EncodeFactors<Q, MemorySpace>{quantiser, blocks, parts, sums, values, messages});
}

/// What came from all ranks for the blocks [first, last) of the own chunk.
template <class MemorySpace>
struct ReceivedFactors {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t first_word = 0;     ///< of the chunk, among the messages of all chunks
  std::int64_t first_element = 0;  ///< of the chunk
  int ranks = 1;
  std::int64_t stride_words = 0;  ///< between the messages of two ranks
  ConstWords<MemorySpace> words;
};

/// The mean of what ranks sent, in their order and in float32; its codes into replies. own(i) <- own(i) - n
/// times what these codes lose of the mean, unless own is empty.
///
/// Shape: means [own chunk], workspace; replies has the messages of all chunks; own as the vector.
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

/// out(i) <- what the messages say.
template <class Exec, Quantiser Q, class MemorySpace>
void decode_factors(const Exec& exec, const Q& quantiser, const FactorBlocks<MemorySpace>& blocks,
                    const ConstWords<MemorySpace>& messages, const Kokkos::View<float*, MemorySpace>& out) {
  detail::for_each_block("kadam::decode_factors", exec, 0, static_cast<std::int64_t>(blocks.extent(0)),
                         detail::DecodeFactors<Q, MemorySpace>{quantiser, blocks, messages, out});
}

}  // namespace kadam
