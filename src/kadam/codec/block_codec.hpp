// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/any_quantiser.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/block_coder.hpp>
#include <kadam/kernels/moving_average_error.hpp>
#include <kadam/kernels/ordered_sum.hpp>
#include <kadam/wire/block_message.hpp>

#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

namespace kadam {

/// A Quantiser with its message layout. It has no state: errors and messages are arguments.
class BlockCodec {
 public:
  BlockCodec() = default;
  /// block_elements: of a scale block; 0: one block per chunk. Errors: as BlockMessage.
  BlockCodec(const AnyQuantiser& quantiser, const ChunkLayout& chunks, std::int64_t block_elements);

  [[nodiscard]] const BlockMessage& message() const { return message_; }

  /// Returns the blocks of a range of elements of the whole vector. The range holds whole blocks of one
  /// chunk.
  [[nodiscard]] BlockRange blocks_of(const ElementRange& range) const {
    return BlockRange::of_elements(message_.map(), range.begin, range.end);
  }
  /// Returns the same blocks, numbered from the start of their chunk.
  [[nodiscard]] BlockRange blocks_in_chunk(int chunk, const ElementRange& range) const;

  /// The codes that allow errors of this kind: Codes for a Vector<float>, fewer for Bfloat16Errors.
  template <class Error, class Codes = AnyQuantiser>
  using CodesWith = std::conditional_t<std::is_same_v<Error, Vector<float>>, Codes, ShortErrorCode>;

  /// Calls encode_with_error_feedback() of kernels/block_coder.hpp. Errors: std::logic_error if this code
  /// does not allow such errors.
  template <class Load, class Error>
  void encode(const ExecutionSpace& exec, const BlockRange& blocks, const Load& load,
              const ActiveMask<MemorySpace>& active, const Error& error,
              const Words<MemorySpace>& messages) const {
    visit<CodesWith<Error>>([&](const auto& quantiser) {
      encode_with_error_feedback(exec, quantiser, blocks, load, active, error, messages);
    });
  }

  /// Calls encode_continued(), compiled for each of Codes. Errors: as encode().
  template <class Codes = AnyQuantiser, class Load, class Error>
  void encode(const ExecutionSpace& exec, const BlockRange& blocks,
              const ContinuedLoad<Load, MemorySpace>& input, const ActiveMask<MemorySpace>& active,
              const Error& error, const Words<MemorySpace>& messages) const {
    visit<CodesWith<Error, Codes>>([&](const auto& quantiser) {
      encode_continued(exec, quantiser, blocks, input, active, error, messages);
    });
  }

  /// Calls encode_accumulated().
  void encode(const ExecutionSpace& exec, const BlockRange& blocks, const ActiveMask<MemorySpace>& active,
              const Vector<float>& error, const Words<MemorySpace>& messages) const;

  /// Calls encode_with_moving_average_error(). Errors: std::logic_error unless this is a UniformCode.
  void encode(const ExecutionSpace& exec, const BlockRange& blocks, const Numbers<MemorySpace>& gradient,
              float gradient_scale, const ActiveMask<MemorySpace>& active,
              const ByteError<MemorySpace>& error, const Ema& average,
              const Words<MemorySpace>& messages) const;

  /// Calls decode_mean() for blocks_in_chunk(), with one message of every rank. Errors: as encode(). Shape:
  /// messages: those of ranks 0 to ranks - 1 for this chunk, one behind the other, each with
  /// message().piece(chunk).bytes; element 0 of `out` is the first of the chunk.
  void mean(const ExecutionSpace& exec, int chunk, const BlockRange& blocks, int ranks,
            const ConstWords<MemorySpace>& messages, const Vector<float>& out) const;

  /// Calls reduce_and_encode() for blocks_in_chunk(), with one message of every rank. Errors: as encode().
  /// Shape: messages as for mean(); element 0 of `error` is the first of the chunk.
  void reduce(const ExecutionSpace& exec, int chunk, const BlockRange& blocks, int ranks,
              const ConstWords<MemorySpace>& messages, const ActiveMask<MemorySpace>& active,
              const Vector<float>& error, const Words<MemorySpace>& reply) const;
  void reduce(const ExecutionSpace& exec, int chunk, const BlockRange& blocks, int ranks,
              const ConstWords<MemorySpace>& messages, const ActiveMask<MemorySpace>& active,
              const Bfloat16Errors<MemorySpace>& error, const Words<MemorySpace>& reply) const;

  /// Calls function(quantiser of this code); it is compiled for each of Codes.
  /// Errors: std::logic_error if this code is none of Codes.
  template <class Codes = AnyQuantiser, class Function>
  void visit(const Function& function) const {
    visit_one_of(static_cast<const Codes*>(nullptr), function);
  }

  /// decode_and_apply on elements [begin, end) of the whole vector, compiled for each of Codes. Errors: as
  /// visit().
  template <class Codes = AnyQuantiser, class Apply>
  void decode(const ExecutionSpace& exec, const ConstWords<MemorySpace>& messages,
              const ActiveMask<MemorySpace>& active, std::int64_t begin, std::int64_t end,
              const Apply& apply) const {
    visit<Codes>([&](const auto& quantiser) {
      decode_and_apply(exec, quantiser, message_.map(), messages, active, begin, end, apply);
    });
  }

  /// Returns the sum of squares of the active elements of the vector that `messages` hold. Waits for exec.
  [[nodiscard]] double squared_norm(const ExecutionSpace& exec, const ConstWords<MemorySpace>& messages,
                                    const ActiveMask<MemorySpace>& active,
                                    const SumSpace<MemorySpace>& space) const;

 private:
  /// Calls function(quantiser of this code), compiled for each of the codes Q.
  template <class... Q, class Function>
  void visit_one_of(const std::variant<Q...>* /*codes*/, const Function& function) const {
    const auto visits = [&]<class Code>(const Code* quantiser) {
      if (quantiser != nullptr) function(*quantiser);
      return quantiser != nullptr;
    };
    if (!(visits(std::get_if<Q>(&quantiser_)) || ...)) {
      throw std::logic_error("kadam::BlockCodec: this function is not compiled for this code");
    }
  }

  template <class Error>
  void reduce_with(const ExecutionSpace& exec, int chunk, const BlockRange& blocks, int ranks,
                   const ConstWords<MemorySpace>& messages, const ActiveMask<MemorySpace>& active,
                   const Error& error, const Words<MemorySpace>& reply) const;

  /// Words between the messages of consecutive ranks in the buffer of the chunk's owner.
  [[nodiscard]] std::int64_t stride_words(int chunk) const {
    return static_cast<std::int64_t>(message_.piece(chunk).bytes / sizeof(std::uint32_t));
  }

  AnyQuantiser quantiser_;
  BlockMessage message_;
};

}  // namespace kadam
