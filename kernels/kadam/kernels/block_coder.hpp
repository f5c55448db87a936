// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/active_mask.hpp>
#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/block_source.hpp>
#include <kadam/kernels/detail/code_tile.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/detail/with_format.hpp>
#include <kadam/kernels/quantiser.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

/// Encode with error feedback, decode, and decode-and-reduce, for every Quantiser.
///
/// On a GPU one thread owns one 32-bit word of a message and the elements in it, on a CPU a tile of words: no
/// atomics, and results that do not depend on the number of threads.
namespace kadam {

namespace detail {

template <Quantiser Q, class Source, class MemorySpace>
struct EncodeBlock {
  Q quantiser;
  BlockMap map;
  Source source;
  ActiveMask<MemorySpace> active;
  Kokkos::View<float*, MemorySpace> error;
  Words<MemorySpace> message;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    const float scale = compensate(member, block);
    if constexpr (Q::has_scale) {
      member.once([&] { message(block.scale_word) = Kokkos::bit_cast<std::uint32_t>(scale); });
    }
    pack(member, block, scale);
  }

 private:
  /// Leaves what is to be sent in the error; its scale.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION float compensate(const Member& member, const BlockMap::Block& block) const {
    using Statistic = std::conditional_t<Q::reduces_by_max, typename Member::Max, typename Member::Sum>;
    Statistic statistic;
    source.compensate(member, block, error, [&](const std::int64_t in_block, const std::int64_t count) {
      const std::int64_t first = block.first_element + in_block;
      if (!active.all_active()) silence_inactive(member, first, count);
      if constexpr (Q::has_scale) {
        statistic.add(member, count,
                      [&](const std::int64_t k) { return quantiser.statistic(error(first + k)); });
      }
    });
    if constexpr (!Q::has_scale) return 0.0F;
    const std::int64_t counted = Q::reduces_by_max ? block.elements : active_in(member, block);
    return quantiser.scale(static_cast<double>(statistic.value()), counted);
  }

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void silence_inactive(const Member& member, std::int64_t first,
                                                    std::int64_t count) const {
    member.for_each(count, [&](const std::int64_t k) {
      if (!active(first + k)) error(first + k) = 0.0F;
    });
  }

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t active_in(const Member& member,
                                                     const BlockMap::Block& block) const {
    if (active.all_active()) return block.elements;
    const double count = member.sum((block.elements + 31) / 32, [&](const std::int64_t w) {
      const std::int64_t left = block.elements - 32 * w;
      const std::uint32_t inside = left >= 32 ? ~0U : (1U << static_cast<unsigned>(left)) - 1U;
      return static_cast<double>(Kokkos::popcount(active.word(block.first_element + 32 * w) & inside));
    });
    return static_cast<std::int64_t>(count);
  }

  /// Codes into words; what they do not say stays in the error.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void pack(const Member& member, const BlockMap::Block& block,
                                        float scale) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    member.for_each_part(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
      const std::int64_t first = block.first_element + in_block;
      const std::int64_t first_word = in_block / width;
      prefetch_next(first + block.elements, count);
      if constexpr (Member::is_one_thread && Q::bits <= 8) {
        if (active.all_active_in(first, count)) {
          encode_tile(quantiser, &error(first), count, scale, &message(block.first_word + first_word));
          return;
        }
      }
      member.for_each((count + width - 1) / width,
                      [&](const std::int64_t w) { pack_word(block, first_word + w, scale); });
    });
  }

  /// Asks for a part of the next block while this one is worked on in cache.
  KOKKOS_FORCEINLINE_FUNCTION void prefetch_next(std::int64_t first, std::int64_t count) const {
    if (first + count > map.elements) return;
    prefetch(error.data() + first, count);
    if constexpr (requires { source.load.prefetch(first, count); }) source.load.prefetch(first, count);
  }

  KOKKOS_FORCEINLINE_FUNCTION void pack_word(const BlockMap::Block& block, std::int64_t w,
                                             float scale) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    const std::int64_t first = block.first_element + w * width;
    const std::uint32_t activity = active.word(first);
    std::uint32_t word = 0;
    with_count<width>(block.elements - w * width, [&](const std::int64_t count) {
      for (std::int64_t e = 0; e < count; ++e) {
        const float h = error(first + e);
        const std::uint32_t code = quantiser.encode(h, scale);
        const bool is_active = ((activity >> static_cast<unsigned>(e)) & 1U) != 0;
        error(first + e) = is_active ? h - quantiser.decode(code, scale) : 0.0F;
        word |= (is_active ? code : 0U) << static_cast<unsigned>(e * Q::bits);
      }
    });
    message(block.first_word + w) = word;
  }
};

template <Quantiser Q, class Apply, class MemorySpace>
struct DecodeBlock {
  Q quantiser;
  BlockMap map;
  ConstWords<MemorySpace> message;
  ActiveMask<MemorySpace> active;
  std::int64_t begin;
  std::int64_t end;
  Apply apply;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    const BlockMap::Block block = map.block(index);
    const float scale = Q::has_scale ? Kokkos::bit_cast<float>(message(block.scale_word)) : 0.0F;
    member.for_each_part(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
      const std::int64_t first = block.first_element + in_block;
      const std::int64_t first_word = in_block / width;
      with_format(apply, [&](const auto& typed_apply) {
        if (wants_all_of(member, first, count)) {
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

 private:
  template <class Member>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool wants_all_of(const Member& /*member*/, std::int64_t first,
                                                              std::int64_t count) const {
    if (first < begin || first + count > end) return false;
    // The threads of a team would each look through the mask of a whole block.
    return Member::is_one_thread ? active.all_active_in(first, count) : active.all_active();
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
      } else if constexpr (requires { typed_apply.inactive(i); }) {
        typed_apply.inactive(i);
      }
    }
  }
};

}  // namespace detail

/// The compensated input of a block in place of its error, its code in the message, the rest in the error:
/// h = load(i) + error(i); q = C(h); error(i) <- h - q; message <- code of q.
///
/// load(i) gives the input of element i; load.with_format(f), if there is such a function, calls f with a
/// load for one number format. An inactive element sends nothing and its error becomes 0. Shape: error has
/// map.elements entries, message the words of all chunks. Memory: reads and writes error, writes message:
/// 8 B + bits/8 per element and what load reads, 4 B per block, in one pass when a block fits in cache.
/// Deterministic: independent of the number of threads. Worked number: one block, error 0, load (3, -4),
/// sign code, rms: scale 3.5355, codes (1, 0), error (-0.5355, -0.4645).
template <class Exec, Quantiser Q, class Load, class MemorySpace>
void encode_with_error_feedback(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                                const Load& load, const ActiveMask<MemorySpace>& active,
                                const Kokkos::View<float*, MemorySpace>& error,
                                const Words<MemorySpace>& message) {
  using Source = detail::ElementSource<Load>;
  detail::for_each_block("kadam::encode_with_error_feedback", exec, blocks.first, blocks.last,
                         detail::EncodeBlock<Q, Source, MemorySpace>{quantiser, blocks.map, Source{load},
                                                                     active, error, message});
}

/// An input that goes on from the last exchange: load(i, value of element i in `previous`), the message of
/// that exchange. What was decoded need not be kept as float32: a momentum that is what all ranks decoded
/// costs bits/8 bytes per element instead of 4.
template <class Load, class MemorySpace>
struct ContinuedLoad {
  Load load;
  ConstWords<MemorySpace> previous;
};

/// The same with an input that goes on from the last exchange. message may be input.previous itself: a block
/// is read before it is written. An inactive element has no meaningful value there; it sends nothing in any
/// case. Memory: 8 B + 2 bits/8 per element and what load reads.
template <class Exec, Quantiser Q, class Load, class MemorySpace>
void encode_continued(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                      const ContinuedLoad<Load, MemorySpace>& input, const ActiveMask<MemorySpace>& active,
                      const Kokkos::View<float*, MemorySpace>& error, const Words<MemorySpace>& message) {
  using Source = detail::ContinuedSource<Q, Load, MemorySpace>;
  detail::for_each_block(
      "kadam::encode_continued", exec, blocks.first, blocks.last,
      detail::EncodeBlock<Q, Source, MemorySpace>{
          quantiser, blocks.map, Source{quantiser, input.load, input.previous}, active, error, message});
}

/// The same with an input that a kernel before has added to the error. Memory: 8 B + bits/8 per element.
template <class Exec, Quantiser Q, class MemorySpace>
void encode_accumulated(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                        const ActiveMask<MemorySpace>& active, const Kokkos::View<float*, MemorySpace>& error,
                        const Words<MemorySpace>& message) {
  using Source = detail::AlreadyAdded;
  detail::for_each_block(
      "kadam::encode_accumulated", exec, blocks.first, blocks.last,
      detail::EncodeBlock<Q, Source, MemorySpace>{quantiser, blocks.map, Source{}, active, error, message});
}

/// The mean of n messages (decoded, summed in rank order, times 1/n) encoded again with error feedback: what
/// the owner of a chunk does. p = (1/n) sum q_r + error; r = C(p); error <- p - r; reply <- code of r.
///
/// Shape: messages holds n messages of this chunk, stride_words apart; blocks are those of the one chunk.
/// Memory: n bits/8 + 8 B + bits/8 per element.
template <class Exec, Quantiser Q, class MemorySpace>
void reduce_and_encode(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                       const ConstWords<MemorySpace>& messages, int ranks, std::int64_t stride_words,
                       const ActiveMask<MemorySpace>& active, const Kokkos::View<float*, MemorySpace>& error,
                       const Words<MemorySpace>& reply) {
  using Source = detail::MeanOfMessages<Q, MemorySpace>;
  const Source source{quantiser, messages, ranks, stride_words, static_cast<float>(1.0 / ranks)};
  detail::for_each_block(
      "kadam::reduce_and_encode", exec, blocks.first, blocks.last,
      detail::EncodeBlock<Q, Source, MemorySpace>{quantiser, blocks.map, source, active, error, reply});
}

/// apply(i, value of element i) for every active element in [begin, end), apply.inactive(i), if there is such
/// a function, for every other: decode fused with what comes next. apply.with_format(f), if there is such a
/// function, calls f with an apply that has no choice of format left.
///
/// Memory: bits/8 per element and what apply touches.
template <class Exec, Quantiser Q, class Apply, class MemorySpace>
void decode_and_apply(const Exec& exec, const Q& quantiser, const BlockMap& map,
                      const ConstWords<MemorySpace>& message, const ActiveMask<MemorySpace>& active,
                      std::int64_t begin, std::int64_t end, const Apply& apply) {
  if (begin >= end) return;
  detail::for_each_block(
      "kadam::decode_and_apply", exec, map.block_of(begin), map.block_of(end - 1) + 1,
      detail::DecodeBlock<Q, Apply, MemorySpace>{quantiser, map, message, active, begin, end, apply});
}

/// f(i) = (value of element i)^2, 0 for an inactive one: with ordered_sum, the squared norm of what messages
/// say. For figures that are looked at now and then: it finds its place in the message anew for each element.
template <Quantiser Q, class MemorySpace>
struct DecodedSquare {
  Q quantiser;
  BlockMap map;
  ConstWords<MemorySpace> message;
  ActiveMask<MemorySpace> active;

  KOKKOS_FORCEINLINE_FUNCTION double operator()(const std::int64_t i) const {
    if (!active(i)) return 0.0;
    constexpr std::int64_t width = detail::elements_per_word<Q>;
    const BlockMap::Block block = map.block(map.block_of(i));
    const std::int64_t in_block = i - block.first_element;
    const float scale = Q::has_scale ? Kokkos::bit_cast<float>(message(block.scale_word)) : 0.0F;
    const std::uint32_t word = message(block.first_word + in_block / width);
    const auto value =
        static_cast<double>(quantiser.decode(detail::code_at<Q>(word, in_block % width), scale));
    return value * value;
  }
};

}  // namespace kadam
