// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/block_coder.hpp>
#include <kadam/wire/block_message.hpp>

#include <utility>
#include <variant>

namespace kadam {

/// The codes of chunked vectors in scale blocks, one of which is chosen when a program runs.
using AnyQuantiser = std::variant<SignQuantiser, UniformQuantiser<2>, UniformQuantiser<4>,
                                  UniformQuantiser<8>, IdentityQuantiser>;

/// bits = 1: sign with this scale; 2, 4, 8: uniform; 32: identity. Errors: std::invalid_argument for others.
[[nodiscard]] AnyQuantiser make_quantiser(int bits, SignScale scale);

/// A Quantiser with its message layout. Stateless: errors and messages are arguments.
class BlockCodec {
 public:
  BlockCodec() = default;
  BlockCodec(const AnyQuantiser& quantiser, const ChunkLayout& chunks, std::int64_t block_elements);

  [[nodiscard]] const BlockMessage& message() const { return message_; }

  /// encode_with_error_feedback over all chunks.
  template <class Load>
  void encode(const ExecutionSpace& exec, const Load& load, const ActiveMask<MemorySpace>& active,
              const Vector<float>& error, const Words<MemorySpace>& messages) const {
    std::visit(
        [&](const auto& quantiser) {
          encode_with_error_feedback(exec, quantiser, message_.map(), load, active, error, messages);
        },
        quantiser_);
  }

  /// reduce_and_encode of one chunk, from one message of every rank.
  void reduce(const ExecutionSpace& exec, int chunk, int ranks, const ConstWords<MemorySpace>& messages,
              const ActiveMask<MemorySpace>& active, const Vector<float>& error,
              const Words<MemorySpace>& reply) const;

  /// decode_and_apply on elements [begin, end) of the whole vector.
  template <class Apply>
  void decode(const ExecutionSpace& exec, const ConstWords<MemorySpace>& messages,
              const ActiveMask<MemorySpace>& active, std::int64_t begin, std::int64_t end,
              const Apply& apply) const {
    std::visit(
        [&](const auto& quantiser) {
          decode_and_apply(exec, quantiser, message_.map(), messages, active, begin, end, apply);
        },
        quantiser_);
  }

 private:
  AnyQuantiser quantiser_;
  BlockMessage message_;
};

}  // namespace kadam
