// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/block_codec.hpp>

#include <stdexcept>
#include <string>

namespace kadam {
namespace {

BlockMessage message_for(const AnyQuantiser& quantiser, const ChunkLayout& chunks,
                         std::int64_t block_elements) {
  return std::visit(
      [&](const auto& q) {
        using Q = std::decay_t<decltype(q)>;
        return BlockMessage(chunks, block_elements, Q::bits, Q::has_scale);
      },
      quantiser);
}

}  // namespace

AnyQuantiser make_quantiser(int bits, SignScale scale) {
  switch (bits) {
    case 1:
      return SignQuantiser{scale};
    case 2:
      return UniformQuantiser<2>{};
    case 4:
      return UniformQuantiser<4>{};
    case 8:
      return UniformQuantiser<8>{};
    case 32:
      return IdentityQuantiser{};
    default:
      throw std::invalid_argument("kadam::make_quantiser: expected 1, 2, 4, 8 or 32 bits, got " +
                                  std::to_string(bits));
  }
}

BlockCodec::BlockCodec(const AnyQuantiser& quantiser, const ChunkLayout& chunks, std::int64_t block_elements)
    : quantiser_(quantiser), message_(message_for(quantiser, chunks, block_elements)) {}

BlockRange BlockCodec::blocks_in_chunk(int chunk, const ElementRange& range) const {
  const std::int64_t begin = message_.chunks().chunk(chunk).begin;
  return BlockRange::of_elements(message_.chunk_map(chunk), range.begin - begin, range.end - begin);
}

void BlockCodec::encode(const ExecutionSpace& exec, const BlockRange& blocks,
                        const ActiveMask<MemorySpace>& active, const Vector<float>& error,
                        const Words<MemorySpace>& messages) const {
  std::visit(
      [&](const auto& quantiser) { encode_accumulated(exec, quantiser, blocks, active, error, messages); },
      quantiser_);
}

void BlockCodec::encode(const ExecutionSpace& exec, const BlockRange& blocks,
                        const Numbers<MemorySpace>& gradient, float gradient_scale,
                        const ActiveMask<MemorySpace>& active, const ByteError<MemorySpace>& error,
                        const Ema& average, const Words<MemorySpace>& messages) const {
  std::visit(
      [&](const auto& quantiser) {
        if constexpr (requires { quantiser.levels; }) {
          encode_with_moving_average_error(exec, quantiser, blocks, gradient, gradient_scale, active, error,
                                           average, messages);
        } else {
          throw std::invalid_argument(
              "kadam::BlockCodec: a moving-average error needs a code of 2, 4 or 8 bits");
        }
      },
      quantiser_);
}

void BlockCodec::mean(const ExecutionSpace& exec, int chunk, const BlockRange& blocks, int ranks,
                      const ConstWords<MemorySpace>& messages, const Vector<float>& out) const {
  std::visit(
      [&](const auto& quantiser) {
        decode_mean(exec, quantiser, blocks, messages, ranks, stride_words(chunk), out);
      },
      quantiser_);
}

void BlockCodec::reduce(const ExecutionSpace& exec, int chunk, const BlockRange& blocks, int ranks,
                        const ConstWords<MemorySpace>& messages, const ActiveMask<MemorySpace>& active,
                        const Vector<float>& error, const Words<MemorySpace>& reply) const {
  std::visit(
      [&](const auto& quantiser) {
        reduce_and_encode(exec, quantiser, blocks, messages, ranks, stride_words(chunk), active, error,
                          reply);
      },
      quantiser_);
}

double BlockCodec::squared_norm(const ExecutionSpace& exec, const ConstWords<MemorySpace>& messages,
                                const ActiveMask<MemorySpace>& active,
                                const SumSpace<MemorySpace>& space) const {
  return std::visit(
      [&](const auto& quantiser) {
        using Square = DecodedSquare<std::decay_t<decltype(quantiser)>, MemorySpace>;
        return ordered_sum(exec, message_.map().elements, Square{quantiser, message_.map(), messages, active},
                           space);
      },
      quantiser_);
}

}  // namespace kadam
