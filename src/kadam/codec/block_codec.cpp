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

void BlockCodec::reduce(const ExecutionSpace& exec, int chunk, int ranks,
                        const ConstWords<MemorySpace>& messages, const ActiveMask<MemorySpace>& active,
                        const Vector<float>& error, const Words<MemorySpace>& reply) const {
  const auto stride = static_cast<std::int64_t>(message_.piece(chunk).bytes / sizeof(std::uint32_t));
  std::visit(
      [&](const auto& quantiser) {
        reduce_and_encode(exec, quantiser, message_.chunk_map(chunk), messages, ranks, stride, active, error,
                          reply);
      },
      quantiser_);
}

}  // namespace kadam
