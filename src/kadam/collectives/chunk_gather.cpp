// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/chunk_gather.hpp>
#include <kadam/collectives/sliced_chunks.hpp>

namespace kadam {
namespace {

std::vector<Piece> pieces_of(const ChunkLayout& chunks, int first, int count, std::size_t bytes_per_number) {
  std::vector<Piece> pieces;
  pieces.reserve(static_cast<std::size_t>(count));
  for (int j = first; j < first + count; ++j) {
    pieces.push_back(numbers_piece(chunks.chunk(j), bytes_per_number));
  }
  return pieces;
}

}  // namespace

ChunkGather::ChunkGather(const Arrangement& ranks, std::int64_t elements, std::size_t bytes_per_number)
    : own_chunk_(ranks.owner), own_shard_(ranks.place) {
  const ChunkLayout chunks(elements, ranks.ranks);
  chunks_ = pieces_of(chunks, ranks.own_chunk() - ranks.owner, ranks.owners(), bytes_per_number);
  if (!ranks.has_two_levels()) return;
  shards_ = pieces_of(ranks.shards(elements), 0, ranks.places, bytes_per_number);
}

Cost ChunkGather::cost() const {
  Cost cost;
  cost.transfers = {{Pattern::all_gather, Traffic::dense, sent(chunks_, own_chunk_)}};
  if (!shards_.empty())
    cost.transfers.push_back({Pattern::all_gather, Traffic::node, sent(shards_, own_shard_)});
  return cost;
}

void ChunkGather::operator()(const ExecutionSpace& exec, Communicator& communicator, Traffic traffic,
                             std::span<std::byte> buffer) const {
  communicator.across().all_gather(exec, traffic, buffer, chunks_);
  if (communicator.has_two_levels()) communicator.node().all_gather(exec, Traffic::node, buffer, shards_);
}

}  // namespace kadam
