// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/active_mask.hpp>
#include <kadam/kernels/bfloat16_errors.hpp>
#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/block_source.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/detail/decode_block.hpp>
#include <kadam/kernels/detail/encode_block.hpp>
#include <kadam/kernels/detail/mean_of_messages.hpp>
#include <kadam/kernels/quantiser.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

/// Encode with error feedback, decode, and decode-and-reduce, for every Quantiser.
///
/// On a CPU a thread owns the words of a block and the elements in them, on a GPU a team does, neighbouring
/// threads with neighbouring elements: no atomics, and results that do not depend on the number of threads.
/// Codes with a maximum for a statistic (uniform, float8) make the same messages on both, bit for bit; the
/// sum behind the scale of a sign code or of gauss2 has another order, and the scale may differ in its last
/// bit.
namespace kadam {

namespace detail {

/// The errors as kernels know them, however a View of them is declared.
template <class MemorySpace, class View>
[[nodiscard]] Kokkos::View<float*, MemorySpace> errors_in(const View& error) {
  return error;
}
template <class MemorySpace>
[[nodiscard]] Bfloat16Errors<MemorySpace> errors_in(const Bfloat16Errors<MemorySpace>& error) {
  return error;
}

/// An EncodeBlock for every block of a range.
template <class Exec, Quantiser Q, class Source, class MemorySpace, class Error>
void encode_blocks(const char* label, const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                   const Source& source, const ActiveMask<MemorySpace>& active, const Error& error,
                   const Words<MemorySpace>& message) {
  const auto errors = errors_in<MemorySpace>(error);
  using Encode = EncodeBlock<Q, Source, MemorySpace, std::decay_t<decltype(errors)>>;
  for_each_block(label, exec, blocks.first, blocks.last,
                 Encode{quantiser, blocks.map, source, active, errors, message});
}

}  // namespace detail

/// The compensated input of a block in place of its error, its code in the message, the rest in the error:
/// h = load(i) + error(i); q = C(h); error(i) <- h - q; message <- code of q.
///
/// error: a View of float, or Bfloat16Errors, whose new ones are rounded by chance.
/// load(i) gives the input of element i; load.with_format(f), if there is such a function, calls f with a
/// load for one number format. An inactive element sends nothing and its error becomes 0. Shape: error has
/// map.elements entries, message the words of all chunks. Memory: reads and writes error, writes message:
/// 8 B + bits/8 per element and what load reads, 4 B less with errors in bf16, 4 B per block, in one pass
/// when a block fits in cache.
/// Deterministic: independent of the number of threads. Worked number: one block, error 0, load (3, -4),
/// sign code, rms: scale 3.5355, codes (1, 0), error (-0.5355, -0.4645).
template <class Exec, Quantiser Q, class Load, class MemorySpace, class Error>
void encode_with_error_feedback(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                                const Load& load, const ActiveMask<MemorySpace>& active, const Error& error,
                                const Words<MemorySpace>& message) {
  detail::encode_blocks("kadam::encode_with_error_feedback", exec, quantiser, blocks,
                        detail::ElementSource<Load>{load}, active, error, message);
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
template <class Exec, Quantiser Q, class Load, class MemorySpace, class Error>
void encode_continued(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                      const ContinuedLoad<Load, MemorySpace>& input, const ActiveMask<MemorySpace>& active,
                      const Error& error, const Words<MemorySpace>& message) {
  using Source = detail::ContinuedSource<Q, Load, MemorySpace>;
  detail::encode_blocks("kadam::encode_continued", exec, quantiser, blocks,
                        Source{quantiser, input.load, input.previous}, active, error, message);
}

/// The same with an input that a kernel before has added to the error. Memory: 8 B + bits/8 per element.
template <class Exec, Quantiser Q, class MemorySpace>
void encode_accumulated(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                        const ActiveMask<MemorySpace>& active, const Kokkos::View<float*, MemorySpace>& error,
                        const Words<MemorySpace>& message) {
  detail::encode_blocks("kadam::encode_accumulated", exec, quantiser, blocks, detail::AlreadyAdded{}, active,
                        error, message);
}

/// The mean of n messages (decoded, summed in rank order, times 1/n) encoded again with error feedback: what
/// the owner of a chunk does. p = (1/n) sum q_r + error; r = C(p); error <- p - r; reply <- code of r. On a
/// CPU signs are summed four ranks at a time, and these sums in rank order.
///
/// Shape: messages holds n messages of this chunk, stride_words apart; blocks are those of the one chunk.
/// Memory: n bits/8 + 8 B + bits/8 per element.
template <class Exec, Quantiser Q, class MemorySpace, class Error>
void reduce_and_encode(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                       const ConstWords<MemorySpace>& messages, int ranks, std::int64_t stride_words,
                       const ActiveMask<MemorySpace>& active, const Error& error,
                       const Words<MemorySpace>& reply) {
  using Source = detail::MeanOfMessages<Q, MemorySpace>;
  const Source source{quantiser, messages, ranks, stride_words, static_cast<float>(1.0 / ranks)};
  detail::encode_blocks("kadam::reduce_and_encode", exec, quantiser, blocks, source, active, error, reply);
}

/// apply(i, value of element i) for every active element in [begin, end), apply.inactive(i), if there is such
/// a function, for every other: decode fused with what comes next. apply.with_format(f), if there is such a
/// function, calls f with an apply that has no choice of format left. apply.load(i) and store(i, value,
/// loaded), if there are such functions, say what apply reads: on a GPU several elements are then read before
/// one is written.
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
    const float scale = Q::has_scale ? number_in(message(block.scale_word)) : 0.0F;
    const std::uint32_t word = message(block.first_word + in_block / width);
    const auto value =
        static_cast<double>(quantiser.decode(detail::code_at<Q>(word, in_block % width), scale));
    return value * value;
  }
};

}  // namespace kadam
