// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/active_mask.hpp>
#include <kadam/kernels/bfloat16_errors.hpp>
#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/coded_vector.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/block_source.hpp>
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
/// One thread of a CPU, or one team of a GPU, works on a block: its words and its elements. No kernel needs
/// atomics, and no result depends on the number of threads. Codes whose statistic is a maximum (uniform,
/// float8) make the same messages on CPU and GPU, bit for bit. The scale of a sign code or of gauss2 comes
/// from a sum, whose order differs between CPU and GPU: it may differ in its last bit. C(h) is h, coded and
/// decoded again.
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

/// Encodes load + error; writes the codes to `message`; keeps the rounding error in `error`:
/// h = load(i) + error(i); q = C(h); error(i) <- h - q; message <- code of q. A block whose scale is 0, since
/// its inputs are too small for a normal float32, keeps no error.
///
/// error: a View of float, or Bfloat16Errors, which rounds new errors by chance, in blocks of at most
/// Bfloat16Errors::longest_block elements.
/// load: load(i) returns the input of element i. Optional: load.with_format(f) calls f with a load for one
/// number format; load.prefetch(first, count) asks memory for the inputs of these elements. The code of an
/// inactive element is 0 and means nothing; its error becomes 0.
/// Shape: error has blocks.map.elements entries, message the words of all chunks of blocks.map, of which
/// those of `blocks` are written. Memory: reads and writes error, writes message: 8 B + bits/8 per element
/// and the bytes that load reads, 4 B less with errors in bf16; 4 B per block. One pass when a block fits in
/// cache. Deterministic: independent of the number of threads. Worked number: one block, error 0, load (3,
/// -4), sign code, rms: scale 3.5355, codes (1, 0), error (-0.5355, -0.4645).
template <class Exec, Quantiser Q, class Load, class MemorySpace, class Error>
void encode_with_error_feedback(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                                const Load& load, const ActiveMask<MemorySpace>& active, const Error& error,
                                const Words<MemorySpace>& message) {
  detail::encode_blocks("kadam::encode_with_error_feedback", exec, quantiser, blocks,
                        detail::ElementSource<Load>{load}, active, error, message);
}

/// The input load(i, element i of `previous`): it continues the result of the last exchange, whose message is
/// `previous`. A momentum that all ranks have decoded needs no copy in float32: reading it costs bits/8 bytes
/// per element instead of 4.
template <class Load, class MemorySpace>
struct ContinuedLoad {
  Load load;
  ConstWords<MemorySpace> previous;
};

/// Encodes as encode_with_error_feedback() does, an input that continues the last exchange. input.load may be
/// a LoadBySegment, or have the optional functions of a load. message may be input.previous itself: a block
/// is read before it is written. input.previous needs no meaningful value for an inactive element. Memory: 8
/// B + 2 x bits/8 per element and the bytes that load reads, 4 B less with errors in bf16; 8 B per block.
template <class Exec, Quantiser Q, class Load, class MemorySpace, class Error>
void encode_continued(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                      const ContinuedLoad<Load, MemorySpace>& input, const ActiveMask<MemorySpace>& active,
                      const Error& error, const Words<MemorySpace>& message) {
  using Source = detail::ContinuedSource<Q, Load, MemorySpace>;
  detail::encode_blocks("kadam::encode_continued", exec, quantiser, blocks,
                        Source{quantiser, input.load, input.previous}, active, error, message);
}

/// Encodes as encode_with_error_feedback() does, an input that another kernel has already added to `error`.
/// Memory: 8 B + bits/8 per element.
template <class Exec, Quantiser Q, class MemorySpace>
void encode_accumulated(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                        const ActiveMask<MemorySpace>& active, const Kokkos::View<float*, MemorySpace>& error,
                        const Words<MemorySpace>& message) {
  detail::encode_blocks("kadam::encode_accumulated", exec, quantiser, blocks, detail::AlreadyAdded{}, active,
                        error, message);
}

/// Decodes the messages of n = `ranks` ranks, takes their mean and encodes it with error feedback: the work
/// of a chunk's owner. p = (1/n) sum_r q_r + error; error <- p - C(p); reply <- code of p. Messages are
/// summed in rank order; a CPU sums signs four ranks at a time, and these sums in rank order.
///
/// Shape: messages holds n messages of this chunk, stride_words apart. The map of `blocks` describes this one
/// chunk, whose first element is element 0 of error, active and reply too.
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

/// Calls apply(i, value of element i) for every active element in [begin, end): decoding and the update that
/// follows it in one pass.
///
/// begin and end may lie inside of blocks. apply may be an UpdateBySegment; no call may depend on another.
/// Optional functions of apply: inactive(i) is called for every inactive element. with_format(f) calls f with
/// an apply for one number format. load(i) returns the numbers that apply reads, and store(i, value, loaded)
/// updates element i with them: a GPU then reads several elements before it writes one.
///
/// Memory: bits/8 per element and the bytes that apply reads and writes.
template <class Exec, Quantiser Q, class Apply, class MemorySpace>
void decode_and_apply(const Exec& exec, const Q& quantiser, const BlockMap& map,
                      const ConstWords<MemorySpace>& message, const ActiveMask<MemorySpace>& active,
                      std::int64_t begin, std::int64_t end, const Apply& apply) {
  if (begin >= end) return;
  detail::for_each_block(
      "kadam::decode_and_apply", exec, map.block_of(begin), map.block_of(end - 1) + 1,
      detail::DecodeBlock<Q, Apply, MemorySpace>{quantiser, map, message, active, begin, end, apply});
}

/// f(i) = (element i)^2, 0 for an inactive one: with ordered_sum, the squared norm of a coded vector. Slow,
/// because each element looks up its block: for figures that are not computed in every step.
template <Quantiser Q, class MemorySpace>
struct DecodedSquare {
  CodedVector<Q, MemorySpace> vector;
  ActiveMask<MemorySpace> active;

  KOKKOS_FORCEINLINE_FUNCTION double operator()(const std::int64_t i) const {
    if (!active(i)) return 0.0;
    const auto value = static_cast<double>(vector(i));
    return value * value;
  }
};

}  // namespace kadam
