// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/sparse_mean.hpp>
#include <kadam/kernels/support_overlap.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <stdexcept>
#include <string>

namespace kadam {
namespace {

std::int64_t words(std::size_t bytes) {
  return static_cast<std::int64_t>(bytes / sizeof(std::uint32_t));
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
  const std::size_t bytes = has_owners() ? message_.region_piece(ranks, rank).bytes : message_.total_bytes();
  received_pieces_.reserve(static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
    received_pieces_.push_back({r * bytes, bytes});
  received_ = allocate<std::uint32_t>(exec, "kadam::SparseMean::received", words(bytes) * ranks);
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
  region_pieces_ = message_.region_pieces(ranks_);
  const std::int64_t message_words = words(message_.total_bytes());
  sent_ = allocate<std::uint32_t>(exec, "kadam::SparseMean::sent", message_words);
  kept_ = allocate<std::uint32_t>(exec, "kadam::SparseMean::kept", message_words);
  sums_ = allocate<float>(exec, "kadam::SparseMean::sums", message_.region(ranks_, rank_).elements());
}

void SparseMean::deliver(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                         const Vector<float>& residual, const Vector<float>& x) {
  if (message_.map().elements == 0) return;
  delivered_ = true;
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
  const std::int64_t own_words = words(message_.total_bytes());
  {
    const auto scope = phases.enter(exec, Phase::encode);
    const Words<MemorySpace> own =
        Kokkos::subview(received_, Kokkos::make_pair(rank_ * own_words, (rank_ + 1) * own_words));
    select(exec, message_.map(), residual, Selected::becomes_zero, own);
  }
  {
    const auto scope = phases.enter(exec, Phase::exchange);
    communicator.all_gather(exec, Traffic::sparse, bytes_of(received_), received_pieces_);
  }
  const auto scope = phases.enter(exec, Phase::decode);
  subtract_mean_of_messages(exec, received_messages(), sums_, x);
}

void SparseMean::deliver_by_owners(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                                   const Vector<float>& residual, const Vector<float>& x) {
  {
    const auto scope = phases.enter(exec, Phase::encode);
    select(exec, message_.map(), residual, Selected::stays, sent_);
  }
  {
    const auto scope = phases.enter(exec, Phase::exchange);
    communicator.all_to_all(exec, Traffic::sparse, bytes_of(sent_), region_pieces_, bytes_of(received_),
                            received_pieces_);
  }
  {
    const auto scope = phases.enter(exec, Phase::encode);
    reduce_region(exec);
  }
  {
    const auto scope = phases.enter(exec, Phase::exchange);
    communicator.all_gather(exec, Traffic::sparse, bytes_of(kept_), region_pieces_);
  }
  const auto scope = phases.enter(exec, Phase::decode);
  const ConstWords<MemorySpace> sent = sent_;
  const ConstWords<MemorySpace> kept = kept_;
  subtract_message(exec, message_.map(), kept, x);
  clear_kept(exec, message_.map(), sent, kept, residual);
}

void SparseMean::reduce_region(const ExecutionSpace& exec) {
  mean_of_messages(exec, received_messages(), sums_);
  const Piece region = region_pieces_[static_cast<std::size_t>(rank_)];
  const std::int64_t first = words(region.offset_bytes);
  const Words<MemorySpace> own =
      Kokkos::subview(kept_, Kokkos::make_pair(first, first + words(region.bytes)));
  select(exec, message_.region_map(ranks_, rank_), sums_, Selected::stays, own);
}

void SparseMean::select(const ExecutionSpace& exec, const detail::SparseMap& map, const Vector<float>& values,
                        Selected selected, const Words<MemorySpace>& message) const {
  if (map.block_elements <= SparseMessage::largest_select_block) {
    select_top_k(exec, map, values, selected, message);
    return;
  }
  for (std::int64_t block = 0; block < map.blocks; ++block)
    large_top_k_(exec, map, block, values, selected, message);
}

SparseMessages<MemorySpace> SparseMean::received_messages() const {
  return {has_owners() ? message_.region_map(ranks_, rank_) : message_.map(), received_, ranks_,
          words(received_pieces_.front().bytes)};
}

std::optional<double> SparseMean::overlap(const ExecutionSpace& exec, Communicator& communicator) {
  if (ranks_ == 1 || !delivered_) return std::nullopt;
  const SparseMessages<MemorySpace> messages = received_messages();
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
  const std::size_t own = message_.region_piece(ranks_, rank_).bytes;
  return message_.total_bytes() - own + others * own;
}

std::size_t SparseMean::workspace_bytes() const {
  return (received_.size() + sent_.size() + kept_.size()) * sizeof(std::uint32_t) +
         sums_.size() * sizeof(float) + senders_.size() + large_top_k_.workspace_bytes();
}

}  // namespace kadam
