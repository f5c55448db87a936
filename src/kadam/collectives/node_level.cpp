// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/node_level.hpp>

namespace kadam {

NodeLevelLayout::NodeLevelLayout(const Arrangement& ranks, std::int64_t elements, NumberFormat widest)
    : shards_(ranks.shards(elements)),
      shard_(shards_.chunk(ranks.place)),
      place_(ranks.place),
      widest_(widest),
      by_library_(ranks.node_by_library) {}

Transfer NodeLevelLayout::mean(NumberFormat format) const {
  return {Pattern::all_to_all, Traffic::node,
          OrderedReduction::bytes_sent(shards_, place_, format, OrderedReduction::Replies::none)};
}

Transfer NodeLevelLayout::gather(std::size_t own_bytes) const {
  return {Pattern::all_gather, Traffic::node, static_cast<std::size_t>(ranks() - 1) * own_bytes};
}

void NodeLevelLayout::precede(NumberFormat format, Cost& cost) const {
  if (!exists()) return;
  cost.transfers.insert(cost.transfers.begin(), mean(format));
  if (by_library_) return;
  cost.work.push_back({cost::dense_mean, static_cast<double>(shard_.elements() * ranks())});
  cost.memory.workspace_bytes += OrderedReduction::memory_bytes(shards_, place_, widest_);
}

void NodeLevelLayout::surround(NumberFormat format, std::size_t gathered_bytes, Cost& cost) const {
  precede(format, cost);
  if (exists()) cost.transfers.push_back(gather(gathered_bytes));
}

NodeLevel::NodeLevel(const ExecutionSpace& exec, Communicator& communicator, const NodeLevelLayout& layout)
    : layout_(layout), communicator_(&communicator) {
  if (exists() && !layout.by_library())
    reduction_ = OrderedReduction(exec, layout.shards(), layout.place(), layout.widest());
}

void NodeLevel::mean_by_library(const ExecutionSpace& exec, Phases& phases,
                                const Numbers<MemorySpace>& values, std::span<std::byte> out) const {
  const auto scope = phases.enter(exec, Phase::exchange);
  const auto shards = pieces(
      [&](const ElementRange& shard) { return numbers_piece(shard, bytes_per_number(values.format())); });
  values.visit([&](const auto& numbers) {
    communicator_->node().collectives()->mean_to_owners(exec, values.format(), bytes_of(numbers).data(),
                                                        shards, out.data());
  });
  communicator_->count_sent(Traffic::node, layout_.mean(values.format()).bytes);
}

void NodeLevel::gather(const ExecutionSpace& exec, Phases& phases, std::span<std::byte> buffer,
                       const PieceOf& piece_of) const {
  const auto scope = phases.enter(exec, Phase::exchange);
  communicator_->node().all_gather(exec, Traffic::node, buffer, pieces(piece_of));
}

std::vector<Piece> NodeLevel::pieces(const PieceOf& piece_of) const {
  std::vector<Piece> all;
  all.reserve(static_cast<std::size_t>(layout_.ranks()));
  for (int place = 0; place < layout_.ranks(); ++place)
    all.push_back(piece_of(layout_.shards().chunk(place)));
  return all;
}

}  // namespace kadam
