// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/pipelined_gather.hpp>
#include <kadam/collectives/pipelined_reduction.hpp>
#include <kadam/collectives/sliced_messages.hpp>
#include <kadam/collectives/sparse_mean.hpp>
#include <kadam/kernels/support_overlap.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <stdexcept>
#include <string>

namespace kadam {
namespace {

Vector<float> part_of(const Vector<float>& all, const ElementRange& range) {
  return Kokkos::subview(all, Kokkos::make_pair(range.begin, range.end));
}

void require_select_block(const SparseOptions& options) {
  if (options.select_block < 0 || options.select_block > SparseMessage::largest_select_block) {
    throw std::invalid_argument(
        "kadam::SparseMean: expected a select_block from 0 (one block) to 65536 elements, got " +
        std::to_string(options.select_block));
  }
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

/// With owners and select_block = 0 every region is one block, and regions are the ranks' chunks.
std::int64_t block_of(const SparseOptions& options, std::int64_t elements, int ranks) {
  if (options.select_block > 0 || options.exchange == SparseExchange::own) return options.select_block;
  return ChunkLayout(elements, ranks).chunk_elements();
}

}  // namespace

SparseMean::SparseMean(const ExecutionSpace& exec, const SparseOptions& options, std::int64_t elements,
                       int ranks, int rank)
    : options_(options), ranks_(ranks), rank_(rank) {
  require_select_block(options);
  message_ = SparseMessage(elements, block_of(options, elements, ranks), options.density);
  if (ranks == 1) return;
  received_ =
      allocate<std::uint32_t>(exec, "kadam::SparseMean::received", words_of(received_bytes()) * ranks);
  if (message_.map().block_elements > SparseMessage::largest_select_block)
    large_top_k_ = LargeTopK<ExecutionSpace>(exec, message_.map().block_elements);
  if (has_owners()) {
    allocate_for_owners(exec);
  } else {
    allocate_for_all(exec);
  }
}

void SparseMean::allocate_for_all(const ExecutionSpace& exec) {
  sums_ = allocate_zeros<float>(exec, "kadam::SparseMean::sums", sparse_sum_elements(exec, message_.map()));
}

void SparseMean::allocate_for_owners(const ExecutionSpace& exec) {
  const std::int64_t message_words = words_of(message_.total_bytes());
  sent_ = allocate<std::uint32_t>(exec, "kadam::SparseMean::sent", message_words);
  kept_ = allocate<std::uint32_t>(exec, "kadam::SparseMean::kept", message_words);
  sums_ = allocate<float>(exec, "kadam::SparseMean::sums", own_region().elements());
}

void SparseMean::deliver(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                         const Vector<float>& residual, const Vector<float>& x) {
  if (message_.map().elements == 0) return;
  delivered_ = true;
  if (ranks_ > 1) cut_into_slices(communicator.piece_bytes());
  if (ranks_ == 1) {
    const auto scope = phases.enter(exec, Phase::decode);
    deliver_everything(exec, residual, x);
  } else if (has_owners()) {
    deliver_by_owners(exec, communicator, phases, residual, x);
  } else {
    deliver_to_all(exec, communicator, phases, residual, x);
  }
}

void SparseMean::deliver_to_all(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                                const Vector<float>& residual, const Vector<float>& x) {
  const std::size_t bytes = message_.total_bytes();
  const Words<MemorySpace> own = part_of(received_, Piece{static_cast<std::size_t>(rank_) * bytes, bytes});
  GatherSteps steps;
  steps.encode = [&](const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    select(exec, slice.elements, part_of(residual, slice.elements), Selected::becomes_zero, own);
  };
  steps.arrived = [&](const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::decode);
    subtract_mean_of_messages(exec, received_messages(slice.elements), sums_, part_of(x, slice.elements));
  };
  const Lane lane{bytes_of(received_), bytes_of(received_)};
  Exchange exchange(exec, communicator, Traffic::sparse, {&lane, 1});
  pipelined_gather(exec, phases, slices_.of_chunk(0), message_.total_bytes(), communicator, exchange, steps);
}

void SparseMean::deliver_by_owners(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                                   const Vector<float>& residual, const Vector<float>& x) {
  ReductionSteps steps;
  steps.encode = [&](int chunk, const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    select(exec, slice.elements, part_of(residual, slice.elements), Selected::stays, sent_);
    if (chunk == rank_) keep_own_message(exec, slices_, rank_, slice, sent_, received_);
  };
  steps.reduce = [&](const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    const std::int64_t begin = own_region().begin;
    const Vector<float> mean = part_of(sums_, {slice.elements.begin - begin, slice.elements.end - begin});
    mean_of_messages(exec, received_messages(slice.elements), mean);
    select(exec, slice.elements, mean, Selected::stays, kept_);
  };
  steps.arrived = [&](int /*chunk*/, const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::decode);
    const SparseMap map = message_.map_of(slice.elements);
    const ConstWords<MemorySpace> sent = part_of(sent_, slice.sent);
    const ConstWords<MemorySpace> kept = part_of(kept_, slice.sent);
    subtract_message(exec, map, kept, part_of(x, slice.elements));
    clear_kept(exec, map, sent, kept, part_of(residual, slice.elements));
  };
  const std::array<Lane, 2> lanes = {Lane{bytes_of(sent_), bytes_of(received_)},
                                     Lane{bytes_of(kept_), bytes_of(kept_)}};
  Exchange exchange(exec, communicator, Traffic::sparse, lanes);
  ReductionRun run(slices_, rank_, ReductionRun::Replies::to_all, exchange, steps);
  run_reduction(exec, phases, run);
}

void SparseMean::cut_into_slices(std::size_t piece_bytes) {
  const SparseMap& map = message_.map();
  const auto block_bytes = static_cast<std::size_t>(map.full.words()) * sizeof(std::uint32_t);
  const auto region_of = [&](int r) {
    return has_owners() ? message_.region(ranks_, r) : ElementRange{0, map.elements};
  };
  slices_.cut(has_owners() ? ranks_ : 1, region_of, piece_bytes, {map.block_elements, block_bytes},
              [&](const ElementRange& range) { return message_.piece(range); });
}

void SparseMean::select(const ExecutionSpace& exec, const ElementRange& range, const Vector<float>& values,
                        Selected selected, const Words<MemorySpace>& message) const {
  const SparseMap map = message_.map_of(range);
  const Words<MemorySpace> place = part_of(message, message_.piece(range));
  if (map.block_elements <= SparseMessage::largest_select_block) {
    select_top_k(exec, map, values, selected, place);
    return;
  }
  // Blocks that are too long for one thread or team, one after the other by all.
  for (std::int64_t block = 0; block < map.blocks; ++block)
    large_top_k_(exec, map, block, values, selected, place);
}

SparseMessages<MemorySpace> SparseMean::received_messages(const ElementRange& range) const {
  const std::size_t begin = has_owners() ? message_.piece(own_region()).offset_bytes : 0;
  const std::size_t first = message_.piece(range).offset_bytes - begin;
  const std::size_t rest = received_.size() * sizeof(std::uint32_t) - first;
  return {message_.map_of(range), part_of(received_, Piece{first, rest}), ranks_, words_of(received_bytes())};
}

ElementRange SparseMean::own_region() const {
  return message_.region(ranks_, rank_);
}

std::size_t SparseMean::received_bytes() const {
  return has_owners() ? message_.piece(own_region()).bytes : message_.total_bytes();
}

std::optional<double> SparseMean::overlap(const ExecutionSpace& exec, Communicator& communicator) {
  if (ranks_ == 1 || !delivered_) return std::nullopt;
  const SparseMessages<MemorySpace> messages =
      received_messages(has_owners() ? own_region() : ElementRange{0, message_.map().elements});
  if (senders_.data() == nullptr)
    senders_ = allocate<std::uint8_t>(exec, "kadam::SparseMean::senders", messages.map.elements);
  const SupportOverlap counted = support_overlap(exec, messages, senders_);
  std::array<double, 2> sums = {static_cast<double>(counted.touched), static_cast<double>(counted.shared)};
  if (has_owners()) {
    const std::vector<double> all = communicator.all_gather_values(sums);
    sums = {};
    for (std::size_t i = 0; i < all.size(); ++i) sums.at(i % 2) += all[i];
  }
  const auto [touched, shared] = sums;
  if (touched == 0.0) return std::nullopt;
  return shared / touched;
}

std::size_t SparseMean::bytes_sent() const {
  const auto others = static_cast<std::size_t>(ranks_ - 1);
  if (!has_owners()) return message_.total_bytes() * others;
  const std::size_t own = received_bytes();
  return message_.total_bytes() - own + others * own;
}

std::size_t SparseMean::workspace_bytes() const {
  return (received_.size() + sent_.size() + kept_.size()) * sizeof(std::uint32_t) +
         sums_.size() * sizeof(float) + senders_.size() + large_top_k_.workspace_bytes();
}

}  // namespace kadam
