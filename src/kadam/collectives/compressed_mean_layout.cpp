// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/compressed_mean_layout.hpp>

namespace kadam {

CompressedMeanLayout::CompressedMeanLayout(const Arrangement& ranks, const AnyQuantiser& quantiser,
                                           std::int64_t elements, std::int64_t block_elements)
    : code_(figures_of(quantiser)), node_(ranks, elements), owner_(ranks.owner) {
  const AnyQuantiser code = ranks.owners() == 1 ? AnyQuantiser(IdentityQuantiser{}) : quantiser;
  codec_ = BlockCodec(code, ChunkLayout(elements, ranks.ranks), block_elements);
  codec_of_chunks_ = BlockCodec(code, ranks.chunks_of_shard(elements), block_elements);
}

Cost CompressedMeanLayout::cost() const {
  Cost cost;
  const auto own = static_cast<double>(chunks().chunk(owner_).elements());
  cost.work = {{cost::encode(code_.name, code_.bits), static_cast<double>(chunks().elements())}};
  cost.memory = memory();
  const BlockMessage& message = codec_of_chunks_.message();
  const std::size_t own_bytes = message.piece(owner_).bytes;
  const auto others = static_cast<std::size_t>(chunks().ranks() - 1);
  cost.transfers = {{Pattern::all_to_all, Traffic::compressed, message.total_bytes() - own_bytes},
                    {Pattern::all_gather, Traffic::compressed, others * own_bytes}};
  if (compresses()) {
    cost.work.push_back({cost::reduce(code_.name, code_.bits), own * chunks().ranks()});
    cost.work.push_back({cost::reply, own});
  }
  node_.surround(NumberFormat::float32, codec_.message().piece(node_.shard()).bytes, cost);
  return cost;
}

Work CompressedMeanLayout::decoding() const {
  return {cost::decode(code_.name, code_.bits), static_cast<double>(codec_.message().chunks().elements())};
}

MemoryUse CompressedMeanLayout::memory() const {
  const auto floats = [](std::int64_t elements) {
    return sizeof(float) * static_cast<std::size_t>(elements);
  };
  MemoryUse use{floats(chunks().elements()), codec_.message().total_bytes()};
  if (node_.exists())
    use.workspace_bytes += floats(codec_.message().chunks().elements() + chunks().elements());
  if (!compresses()) return use;
  const BlockMessage& message = codec_of_chunks_.message();
  use.state_bytes += floats(chunks().chunk(owner_).elements());
  use.workspace_bytes +=
      message.total_bytes() + message.piece(owner_).bytes * static_cast<std::size_t>(chunks().ranks());
  return use;
}

}  // namespace kadam
