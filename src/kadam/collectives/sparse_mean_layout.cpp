// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/sparse_mean_layout.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/large_top_k.hpp>
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <stdexcept>
#include <string>

namespace kadam {
namespace {

/// With owners and select_block = 0 every region is one block, and regions are the ranks' chunks.
std::int64_t block_of(const SparseOptions& options, std::int64_t elements, int ranks) {
  if (options.select_block < 0 || options.select_block > SparseMessage::largest_select_block) {
    throw std::invalid_argument(
        "kadam::SparseMean: expected a select_block from 0 (one block) to 65536 elements, got " +
        std::to_string(options.select_block));
  }
  if (options.select_block > 0 || options.exchange == SparseExchange::own) return options.select_block;
  return ChunkLayout(elements, ranks).chunk_elements();
}

}  // namespace

SparseMeanLayout::SparseMeanLayout(const SparseOptions& options, std::int64_t elements, int ranks, int rank)
    : options_(options),
      ranks_(ranks),
      rank_(rank),
      message_(elements, block_of(options, elements, ranks), options.density) {}

std::size_t SparseMeanLayout::received_bytes() const {
  return has_owners() ? message_.piece(own_region()).bytes : message_.total_bytes();
}

/// Densities between 1 and 0.1 % cost something in between; the nearer one counts.
Kernel SparseMeanLayout::selection() const {
  constexpr double between = 0.003;
  if (options_.density < between) return selects_together() ? cost::top_k_all_permille : cost::top_k_permille;
  return selects_together() ? cost::top_k_all_percent : cost::top_k_percent;
}

Cost SparseMeanLayout::cost(std::int64_t threads) const {
  Cost cost;
  const auto elements = static_cast<double>(message_.map().elements);
  if (ranks_ == 1) {
    cost.transfers = {{Pattern::all_gather, Traffic::sparse, 0}};
    cost.work = {{cost::copy, 2.0 * elements}};
    return cost;
  }
  cost.work = {{selection(), elements}};
  cost.memory.workspace_bytes = received_bytes() * static_cast<std::size_t>(ranks_);
  if (selects_together()) {
    cost.memory.workspace_bytes +=
        LargeTopK<ExecutionSpace>::workspace_bytes(threads, message_.map().block_elements);
  }
  if (has_owners()) {
    add_sum_by_owners(cost);
  } else {
    add_sum_by_all(threads, cost);
  }
  return cost;
}

void SparseMeanLayout::add_sum_by_all(std::int64_t threads, Cost& cost) const {
  const SparseMap& map = message_.map();
  cost.transfers = {
      {Pattern::all_gather, Traffic::sparse, message_.total_bytes() * static_cast<std::size_t>(ranks_ - 1)}};
  cost.work.push_back({cost::sparse_sum, static_cast<double>(map.entries() * ranks_)});
  cost.memory.workspace_bytes += sizeof(float) * static_cast<std::size_t>(sparse_sum_elements(threads, map));
}

void SparseMeanLayout::add_sum_by_owners(Cost& cost) const {
  const std::size_t own = received_bytes();
  const auto region = static_cast<double>(own_region().elements());
  const std::int64_t entries = message_.map_of(own_region()).entries();
  cost.transfers = {{Pattern::all_to_all, Traffic::sparse, message_.total_bytes() - own},
                    {Pattern::all_gather, Traffic::sparse, static_cast<std::size_t>(ranks_ - 1) * own}};
  cost.work.push_back({cost::sparse_sum, static_cast<double>(entries * ranks_)});
  cost.work.push_back({cost::scale, region});
  cost.work.push_back({selection(), region});
  cost.work.push_back({cost::sparse_apply, static_cast<double>(message_.map().entries())});
  cost.memory.workspace_bytes +=
      2 * message_.total_bytes() + sizeof(float) * static_cast<std::size_t>(own_region().elements());
}

}  // namespace kadam
