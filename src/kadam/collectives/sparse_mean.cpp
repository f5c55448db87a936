// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/pipelined_reduction.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/collectives/sparse_mean.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/large_top_k.hpp>
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/kernels/support_overlap.hpp>
#include <kadam/kernels/two_levels.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam {
namespace {

/// The most elements of a slice, unless one block has more. Its message may be short, but the wire waits for
/// the selection from the first slice, and the end of a delivery for the sum of the last. A device selects
/// from any slice in about the time of a launch.
constexpr std::int64_t longest_slice =
    kernels_run_on_host ? std::int64_t{1} << 19U : std::numeric_limits<std::int64_t>::max();

/// The most messages that longest_slice makes a rank send in a delivery to all: each costs some
/// microseconds, and more of them would take longer than the selection that they hide.
constexpr std::int64_t most_short_messages = 512;

/// The length of select blocks, 0 for one block in all. With owners and select_block = 0 every region is one
/// block, and the regions are the ranks' chunks.
std::int64_t block_of(const SparseOptions& options, std::int64_t elements, int ranks) {
  if (options.select_block < 0 || options.select_block > SparseMessage::largest_select_block) {
    throw std::invalid_argument(
        "kadam::SparseMean: expected a select_block from 0 (one block) to 65536 elements, got " +
        std::to_string(options.select_block));
  }
  if (options.values == SparseValues::two_levels &&
      (options.exchange == SparseExchange::owner || options.select_block == 0 ||
       options.select_block > SparseMessage::largest_level_block)) {
    throw std::invalid_argument(
        "kadam::SparseMean: values of 2 bits need exchange own and a select_block from 1 to 4096 elements, "
        "got exchange " +
        std::string(options.exchange == SparseExchange::own ? "own" : "owner") + " and a select_block of " +
        std::to_string(options.select_block));
  }
  if (options.select_block > 0 || options.exchange == SparseExchange::own) return options.select_block;
  return ChunkLayout(elements, ranks).chunk_elements();
}

Vector<float> part_of(const Vector<float>& all, const ElementRange& range) {
  return Kokkos::subview(all, Kokkos::make_pair(range.begin, range.end));
}

/// x <- x - residual;  residual <- 0.
void deliver_everything(const ExecutionSpace& exec, const Vector<float>& residual, const Vector<float>& x) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::SparseMean::deliver_everything", Policy(exec, 0, static_cast<std::int64_t>(x.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        x(i) -= residual(i);
        residual(i) = 0.0F;
      });
}

/// The functions that a gather calls for each slice. They may return while their kernels still run.
struct GatherSteps {
  std::function<void(const Slice&)> encode;   ///< makes this rank's message of a slice
  std::function<void(const Slice&)> arrived;  ///< handles the messages of all ranks for a slice
};

/// Sends every rank's message to all, slice by slice: one is encoded, another decoded, while others travel.
///
/// slices: of a message; Slice::sent is the place of a slice in it. The message of rank r lies r stride_bytes
/// behind the start of both buffers; encode makes the own one in its place.
void pipelined_gather(const ExecutionSpace& exec, Phases& phases, const std::vector<Slice>& slices,
                      std::size_t stride_bytes, Communicator& communicator, Exchange& exchange,
                      const GatherSteps& steps) {
  const int ranks = communicator.size();
  const int rank = communicator.rank();
  const auto of_rank = [&](int r, const Slice& slice) -> Piece {
    return {static_cast<std::size_t>(r) * stride_bytes + slice.sent.offset_bytes, slice.sent.bytes};
  };
  for (std::size_t s = 0; s < slices.size(); ++s) {
    for (int k = 1; k < ranks; ++k) {
      const int from = (rank + ranks - k) % ranks;
      exchange.receive(0, from, s, of_rank(from, slices[s]),
                       s * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(from));
    }
  }
  std::vector<int> missing(slices.size(), ranks);
  std::size_t open = slices.size();
  const auto count = [&](std::size_t s) {
    if (--missing[s] > 0) return;
    steps.arrived(slices[s]);
    --open;
  };
  const auto take = [&](const std::vector<std::size_t>& arrived) {
    for (const std::size_t id : arrived) count(id / static_cast<std::size_t>(ranks));
  };
  for (std::size_t s = 0; s < slices.size(); ++s) {
    steps.encode(slices[s]);
    exchange.send_to_others(0, s, of_rank(rank, slices[s]));
    count(s);
    take(exchange.arrivals(false));
  }
  while (open > 0 || exchange.sending() > 0) {
    const std::vector<std::size_t>* arrived = nullptr;
    {
      const auto scope = phases.enter(exec, Phase::exchange);
      arrived = &exchange.arrivals(true);
    }
    take(*arrived);
  }
}

}  // namespace

SparseMeanLayout::SparseMeanLayout(const SparseOptions& options, std::int64_t elements, int ranks, int rank)
    : options_(options),
      ranks_(ranks),
      rank_(rank),
      message_(elements, block_of(options, elements, ranks), options.density, options.values) {
  if (has_two_levels()) selected_ = SparseMessage(elements, options.select_block, options.density);
}

std::size_t SparseMeanLayout::received_bytes() const {
  return has_owners() ? message_.piece(own_region()).bytes : message_.total_bytes();
}

std::size_t SparseMeanLayout::stride_bytes() const {
  constexpr std::size_t word = sizeof(std::uint32_t);
  return (received_bytes() + word - 1) / word * word;
}

/// The kernel that selects. It is known for densities of 1 and 0.1 %; the nearer one stands for all others.
Kernel SparseMeanLayout::selection() const {
  constexpr double between = 0.003;
  if (options_.density < between) return selects_together() ? cost::top_k_all_permille : cost::top_k_permille;
  return selects_together() ? cost::top_k_all_percent : cost::top_k_percent;
}

std::int64_t SparseMeanLayout::slice_blocks() const {
  const SparseMap& map = message_.map();
  const std::int64_t blocks = std::max(longest_slice / map.block_elements, std::int64_t{1});
  if (has_owners() || ranks_ == 1) return blocks;
  const std::int64_t most_slices = std::max(most_short_messages / (ranks_ - 1), std::int64_t{1});
  return std::max(blocks, (map.blocks + most_slices - 1) / most_slices);
}

std::int64_t SparseMeanLayout::slices_of(const SparseMap& part) const {
  return part.blocks == 0 ? 0 : (part.blocks + slice_blocks() - 1) / slice_blocks();
}

Cost SparseMeanLayout::cost(std::int64_t threads) const {
  Cost cost;
  const auto elements = static_cast<double>(message_.map().elements);
  if (ranks_ == 1) {
    cost.transfers = {{Pattern::all_gather, Traffic::sparse, 0, true}};
    cost.work = {{cost::copy, 2.0 * elements}};
    return cost;
  }
  cost.work = {{selection(), elements}};
  if (has_two_levels())
    cost.work.push_back({cost::sparse_sum, static_cast<double>(message_.map().entries())});
  cost.memory.workspace_bytes = stride_bytes() * static_cast<std::size_t>(ranks_) + selected_.total_bytes();
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
  const std::size_t to_others = message_.total_bytes() * static_cast<std::size_t>(ranks_ - 1);
  cost.transfers = {{Pattern::all_gather, Traffic::sparse, to_others, true, slices_of(map)}};
  cost.work.push_back({cost::sparse_sum, static_cast<double>(map.entries() * ranks_)});
  cost.memory.workspace_bytes += sizeof(float) * static_cast<std::size_t>(sparse_sum_elements(threads, map));
}

void SparseMeanLayout::add_sum_by_owners(Cost& cost) const {
  const std::size_t own = received_bytes();
  const SparseMap map = message_.map_of(own_region());
  const auto region = static_cast<double>(map.elements);
  const std::int64_t slices = slices_of(map);
  cost.transfers = {
      {Pattern::all_to_all, Traffic::sparse, message_.total_bytes() - own, true, slices},
      {Pattern::all_gather, Traffic::sparse, static_cast<std::size_t>(ranks_ - 1) * own, true, slices}};
  cost.work.push_back({cost::sparse_sum, static_cast<double>(map.entries() * ranks_)});
  cost.work.push_back({cost::scale, region});
  cost.work.push_back({selection(), region});
  cost.work.push_back({cost::sparse_apply, static_cast<double>(message_.map().entries())});
  cost.memory.workspace_bytes +=
      2 * message_.total_bytes() + sizeof(float) * static_cast<std::size_t>(map.elements);
}

SparseMean::SparseMean(const ExecutionSpace& exec, const SparseOptions& options, std::int64_t elements,
                       Communicator& communicator)
    : layout_(options, elements, communicator.size(), communicator.rank()), communicator_(&communicator) {
  if (layout_.ranks() == 1) return;
  received_ = allocate<std::uint32_t>(exec, "kadam::SparseMean::received",
                                      words_of(layout_.stride_bytes()) * layout_.ranks());
  if (layout_.has_two_levels()) {
    selected_ = allocate<std::uint32_t>(exec, "kadam::SparseMean::selected",
                                        words_of(layout_.selected().total_bytes()));
  }
  if (layout_.selects_together())
    large_top_k_ = LargeTopK<ExecutionSpace>(exec, layout_.message().map().block_elements);
  if (layout_.has_owners()) {
    allocate_for_owners(exec);
  } else {
    allocate_for_all(exec);
  }
}

void SparseMean::allocate_for_all(const ExecutionSpace& exec) {
  sums_ = allocate_zeros<float>(exec, "kadam::SparseMean::sums",
                                sparse_sum_elements(host_threads(exec), layout_.message().map()));
}

void SparseMean::allocate_for_owners(const ExecutionSpace& exec) {
  const std::int64_t message_words = words_of(layout_.message().total_bytes());
  sent_ = allocate<std::uint32_t>(exec, "kadam::SparseMean::sent", message_words);
  kept_ = allocate<std::uint32_t>(exec, "kadam::SparseMean::kept", message_words);
  sums_ = allocate<float>(exec, "kadam::SparseMean::sums", layout_.own_region().elements());
}

void SparseMean::deliver(const ExecutionSpace& exec, Phases& phases, const Vector<float>& residual,
                         const Vector<float>& x) {
  if (layout_.message().map().elements == 0) return;
  delivered_ = true;
  if (layout_.ranks() > 1) cut_into_slices(communicator_->piece_bytes());
  if (layout_.ranks() == 1) {
    const auto scope = phases.enter(exec, Phase::decode);
    deliver_everything(exec, residual, x);
  } else if (layout_.has_owners()) {
    deliver_by_owners(exec, phases, residual, x);
  } else {
    deliver_to_all(exec, phases, residual, x);
  }
}

void SparseMean::deliver_to_all(const ExecutionSpace& exec, Phases& phases, const Vector<float>& residual,
                                const Vector<float>& x) {
  const std::size_t stride = layout_.stride_bytes();
  const Words<MemorySpace> own =
      part_of(received_, Piece{static_cast<std::size_t>(layout_.rank()) * stride, stride});
  GatherSteps steps;
  steps.encode = [&](const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    select(exec, slice.elements, part_of(residual, slice.elements), Selected::becomes_zero, own);
  };
  steps.arrived = [&](const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::decode);
    subtract_mean_of_messages(exec, received_messages(slice.elements), sums_, part_of(x, slice.elements));
  };
  const ExchangeBuffers buffers{bytes_of(received_), bytes_of(received_)};
  Exchange exchange(exec, *communicator_, Traffic::sparse, {&buffers, 1});
  pipelined_gather(exec, phases, slices_.of_chunk(0), stride, *communicator_, exchange, steps);
}

void SparseMean::deliver_by_owners(const ExecutionSpace& exec, Phases& phases, const Vector<float>& residual,
                                   const Vector<float>& x) {
  ReductionSteps steps;
  steps.encode = [&](int chunk, const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    select(exec, slice.elements, part_of(residual, slice.elements), Selected::stays, sent_);
    if (chunk == layout_.rank()) keep_own_message(exec, slices_, layout_.rank(), slice, sent_, received_);
  };
  steps.reduce = [&](const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    const std::int64_t begin = layout_.own_region().begin;
    const Vector<float> mean = part_of(sums_, {slice.elements.begin - begin, slice.elements.end - begin});
    mean_of_messages(exec, received_messages(slice.elements), mean);
    select(exec, slice.elements, mean, Selected::stays, kept_);
  };
  steps.arrived = [&](int /*chunk*/, const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::decode);
    const SparseMap map = layout_.message().map_of(slice.elements);
    const ConstWords<MemorySpace> sent = part_of(sent_, slice.sent);
    const ConstWords<MemorySpace> kept = part_of(kept_, slice.sent);
    subtract_message(exec, map, kept, part_of(x, slice.elements));
    clear_kept(exec, map, sent, kept, part_of(residual, slice.elements));
  };
  const std::array<ExchangeBuffers, 2> buffers = {ExchangeBuffers{bytes_of(sent_), bytes_of(received_)},
                                                  ExchangeBuffers{bytes_of(kept_), bytes_of(kept_)}};
  Exchange exchange(exec, *communicator_, Traffic::sparse, buffers);
  ReductionRun run(slices_, layout_.rank(), ReductionRun::Replies::to_all, exchange, steps);
  run_reduction(exec, phases, run);
}

void SparseMean::cut_into_slices(std::size_t piece_bytes) {
  const SparseMap& map = layout_.message().map();
  const auto block_bytes = static_cast<std::size_t>(map.full.bytes());
  const std::size_t blocks =
      std::min(piece_bytes / block_bytes, static_cast<std::size_t>(layout_.slice_blocks()));
  const auto region_of = [&](int r) {
    return layout_.has_owners() ? layout_.message().region(layout_.ranks(), r)
                                : ElementRange{0, map.elements};
  };
  slices_.cut(layout_.has_owners() ? layout_.ranks() : 1, region_of, blocks * block_bytes,
              {map.block_elements, block_bytes},
              [&](const ElementRange& range) { return layout_.message().piece(range); });
}

void SparseMean::select(const ExecutionSpace& exec, const ElementRange& range, const Vector<float>& values,
                        Selected selected, const Words<MemorySpace>& message) const {
  const SparseMap map = layout_.message().map_of(range);
  if (layout_.has_two_levels()) {
    const SparseMap exact = layout_.selected().map_of(range);
    const Words<MemorySpace> entries = part_of(selected_, layout_.selected().piece(range));
    select_top_k(exec, exact, values, Selected::stays, entries);
    encode_two_levels<ExecutionSpace, MemorySpace>(
        exec, exact, entries, map,
        reinterpret_cast<std::uint8_t*>(message.data()) + layout_.message().piece(range).offset_bytes,
        values);
    return;
  }
  const Words<MemorySpace> place = part_of(message, layout_.message().piece(range));
  if (!layout_.selects_together()) {
    select_top_k(exec, map, values, selected, place);
    return;
  }
  // Blocks are too long for one thread or team: all threads take one after the other.
  for (std::int64_t block = 0; block < map.blocks; ++block)
    large_top_k_(exec, map, block, values, selected, place);
}

SparseMessages<MemorySpace> SparseMean::received_messages(const ElementRange& range) const {
  const std::size_t begin =
      layout_.has_owners() ? layout_.message().piece(layout_.own_region()).offset_bytes : 0;
  return {layout_.message().map_of(range), received_, layout_.ranks(),
          static_cast<std::int64_t>(layout_.stride_bytes()),
          static_cast<std::int64_t>(layout_.message().piece(range).offset_bytes - begin)};
}

std::optional<double> SparseMean::overlap(const ExecutionSpace& exec) {
  if (layout_.ranks() == 1 || !delivered_) return std::nullopt;
  const SparseMessages<MemorySpace> messages = received_messages(
      layout_.has_owners() ? layout_.own_region() : ElementRange{0, layout_.message().map().elements});
  if (senders_.data() == nullptr)
    senders_ = allocate<std::uint8_t>(exec, "kadam::SparseMean::senders", messages.map.elements);
  const SupportOverlap counted = support_overlap(exec, messages, senders_);
  std::array<double, 2> sums = {static_cast<double>(counted.touched), static_cast<double>(counted.shared)};
  if (layout_.has_owners()) {
    const std::vector<double> all = communicator_->all_gather_values(sums);
    sums = {};
    for (std::size_t i = 0; i < all.size(); ++i) sums.at(i % 2) += all[i];
  }
  const auto [touched, shared] = sums;
  if (touched == 0.0) return std::nullopt;
  return shared / touched;
}

}  // namespace kadam
