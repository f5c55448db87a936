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

AnyQuantiser make_quantiser(std::string_view name, SignScale scale) {
  AnyQuantiser found = IdentityQuantiser{};
  std::string known;
  for_each_code([&](const auto& code) {
    known.append(code.name).append(", ");
    if (code.name == name) found = code;
  });
  if (auto* sign = std::get_if<SignQuantiser>(&found)) sign->rule = scale;
  if (name != IdentityQuantiser::name && std::holds_alternative<IdentityQuantiser>(found)) {
    std::string text = "kadam::make_quantiser: there is no code '";
    text.append(name).append("': choose one of ").append(known).append(IdentityQuantiser::name);
    throw std::invalid_argument(text);
  }
  return found;
}

int code_bits(std::string_view name) {
  return std::visit([](const auto& code) { return std::decay_t<decltype(code)>::bits; },
                    make_quantiser(name));
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
  visit<UniformCode>([&](const auto& quantiser) {
    encode_with_moving_average_error(exec, quantiser, blocks, gradient, gradient_scale, active, error,
                                     average, messages);
  });
}

void BlockCodec::mean(const ExecutionSpace& exec, int chunk, const BlockRange& blocks, int ranks,
                      const ConstWords<MemorySpace>& messages, const Vector<float>& out) const {
  std::visit(
      [&](const auto& quantiser) {
        decode_mean(exec, quantiser, blocks, messages, ranks, stride_words(chunk), out);
      },
      quantiser_);
}

template <class Error>
void BlockCodec::reduce_with(const ExecutionSpace& exec, int chunk, const BlockRange& blocks, int ranks,
                             const ConstWords<MemorySpace>& messages, const ActiveMask<MemorySpace>& active,
                             const Error& error, const Words<MemorySpace>& reply) const {
  visit<CodesWith<Error>>([&](const auto& quantiser) {
    reduce_and_encode(exec, quantiser, blocks, messages, ranks, stride_words(chunk), active, error, reply);
  });
}

void BlockCodec::reduce(const ExecutionSpace& exec, int chunk, const BlockRange& blocks, int ranks,
                        const ConstWords<MemorySpace>& messages, const ActiveMask<MemorySpace>& active,
                        const Vector<float>& error, const Words<MemorySpace>& reply) const {
  reduce_with(exec, chunk, blocks, ranks, messages, active, error, reply);
}

void BlockCodec::reduce(const ExecutionSpace& exec, int chunk, const BlockRange& blocks, int ranks,
                        const ConstWords<MemorySpace>& messages, const ActiveMask<MemorySpace>& active,
                        const Bfloat16Errors<MemorySpace>& error, const Words<MemorySpace>& reply) const {
  reduce_with(exec, chunk, blocks, ranks, messages, active, error, reply);
}

double BlockCodec::squared_norm(const ExecutionSpace& exec, const ConstWords<MemorySpace>& messages,
                                const ActiveMask<MemorySpace>& active,
                                const SumSpace<MemorySpace>& space) const {
  return std::visit(
      [&](const auto& quantiser) {
        using Square = DecodedSquare<std::decay_t<decltype(quantiser)>, MemorySpace>;
        return ordered_sum(exec, message_.map().elements,
                           Square{{quantiser, message_.map(), messages}, active}, space);
      },
      quantiser_);
}

}  // namespace kadam
