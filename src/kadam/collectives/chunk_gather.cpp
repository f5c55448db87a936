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

ChunkGather::ChunkGather(const Communicator& communicator, std::int64_t elements,
                         std::size_t bytes_per_number)
    : own_chunk_(communicator.across().rank()) {
  const ChunkLayout chunks(elements, communicator.size());
  const int nodes = communicator.across().size();
  chunks_ = pieces_of(chunks, communicator.own_chunk() - own_chunk_, nodes, bytes_per_number);
  if (!communicator.has_two_levels()) return;
  own_shard_ = communicator.node().rank();
  shards_ = pieces_of(chunks.joined(nodes), 0, communicator.node().size(), bytes_per_number);
}

void ChunkGather::operator()(const ExecutionSpace& exec, Communicator& communicator, Traffic traffic,
                             std::span<std::byte> buffer) const {
  communicator.across().all_gather(exec, traffic, buffer, chunks_);
  if (communicator.has_two_levels()) communicator.node().all_gather(exec, Traffic::node, buffer, shards_);
}

}  // namespace kadam
