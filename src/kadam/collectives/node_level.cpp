// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/node_level.hpp>

namespace kadam {
namespace {

int place_in_node(const Communicator& communicator) {
  return communicator.has_two_levels() ? communicator.node().rank() : 0;
}

}  // namespace

NodeLevel::NodeLevel(const ExecutionSpace& exec, const Communicator& communicator, std::int64_t elements,
                     NumberFormat widest)
    : shards_(ChunkLayout(elements, communicator.size()).joined(communicator.across().size())),
      shard_(shards_.chunk(place_in_node(communicator))) {
  if (exists()) reduction_ = OrderedReduction(exec, shards_, place_in_node(communicator), widest);
}

ChunkLayout NodeLevel::chunks_of_shard(const Communicator& communicator, std::int64_t elements) {
  const Communicator& owners = communicator.across();
  return ChunkLayout(elements, communicator.size())
      .part(communicator.own_chunk() - owners.rank(), owners.size());
}

void NodeLevel::mean_by_library(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                                const Numbers<MemorySpace>& values, std::span<std::byte> out) const {
  const auto scope = phases.enter(exec, Phase::exchange);
  const auto shards = pieces(
      [&](const ElementRange& shard) { return numbers_piece(shard, bytes_per_number(values.format())); });
  values.visit([&](const auto& numbers) {
    communicator.node().collectives()->mean_to_owners(exec, values.format(), bytes_of(numbers).data(), shards,
                                                      out.data());
  });
  communicator.count_sent(Traffic::node, mean_bytes_sent(values.format()));
}

void NodeLevel::gather(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                       std::span<std::byte> buffer, const PieceOf& piece_of) const {
  const auto scope = phases.enter(exec, Phase::exchange);
  communicator.node().all_gather(exec, Traffic::node, buffer, pieces(piece_of));
}

std::vector<Piece> NodeLevel::pieces(const PieceOf& piece_of) const {
  std::vector<Piece> all;
  all.reserve(static_cast<std::size_t>(shards_.ranks()));
  for (int place = 0; place < shards_.ranks(); ++place) all.push_back(piece_of(shards_.chunk(place)));
  return all;
}

void NodeLevel::reserve_staging(Communicator& communicator) const {
  if (exists()) reduction_.reserve_staging(communicator.node());
}

std::size_t NodeLevel::mean_bytes_sent(NumberFormat format) const {
  return exists() ? reduction_.bytes_sent(format, OrderedReduction::Replies::none) : 0;
}

std::size_t NodeLevel::gather_bytes_sent(const PieceOf& piece_of) const {
  return static_cast<std::size_t>(shards_.ranks() - 1) * piece_of(shard_).bytes;
}

}  // namespace kadam
