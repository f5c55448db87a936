// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/compressed_mean.hpp>
#include <kadam/collectives/pipelined_reduction.hpp>

#include <array>

namespace kadam {

CompressedMean::CompressedMean(const ExecutionSpace& exec, const AnyQuantiser& quantiser,
                               const ChunkLayout& chunks, std::int64_t block_elements, int rank)
    : chunks_(chunks),
      rank_(rank),
      // With one rank there is nobody to send to: the identity code leaves no error.
      codec_(chunks.ranks() == 1 ? AnyQuantiser(IdentityQuantiser{}) : quantiser, chunks, block_elements) {
  const std::int64_t all = words_of(codec_.message().total_bytes());
  state_.worker_error = allocate_zeros<float>(exec, "kadam::CompressedMean::worker_error", chunks.elements());
  // Messages that say 0: what health figures read before the first exchange.
  replies_ = allocate_zeros<std::uint32_t>(exec, "kadam::CompressedMean::replies", all);
  if (chunks.ranks() == 1) return;
  state_.server_error =
      allocate_zeros<float>(exec, "kadam::CompressedMean::server_error", chunks.chunk(rank).elements());
  messages_ = allocate<std::uint32_t>(exec, "kadam::CompressedMean::messages", all);
  received_ = allocate<std::uint32_t>(exec, "kadam::CompressedMean::received",
                                      words_of(codec_.message().piece(rank).bytes) * chunks.ranks());
}

void CompressedMean::run(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                         const ActiveMask<MemorySpace>& active, const Arrived& arrived,
                         const Encode& encode) {
  if (chunks_.ranks() == 1) {
    const auto scope = phases.enter(exec, Phase::encode);
    encode(codec_.message().map());
    if (arrived) arrived({0, chunks_.elements()});
    return;
  }
  cut_messages(slices_, codec_.message(), communicator.piece_bytes());
  ReductionSteps steps;
  steps.encode = [&](int chunk, const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    encode(codec_.blocks_of(slice.elements));
    if (chunk == rank_) keep_own_message(exec, slices_, rank_, slice, messages_, received_);
  };
  steps.reduce = [&](const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    reduce(exec, slice, active);
  };
  if (arrived) {
    steps.arrived = [&](int /*chunk*/, const Slice& slice) {
      const auto scope = phases.enter(exec, Phase::decode);
      arrived(slice.elements);
    };
  }
  const std::array<Lane, 2> lanes = {Lane{bytes_of(messages_), bytes_of(received_)},
                                     Lane{bytes_of(replies_), bytes_of(replies_)}};
  Exchange exchange(exec, communicator, Traffic::compressed, lanes);
  ReductionRun run(slices_, rank_, ReductionRun::Replies::to_all, exchange, steps);
  run_reduction(exec, phases, run);
}

void CompressedMean::reduce(const ExecutionSpace& exec, const Slice& slice,
                            const ActiveMask<MemorySpace>& active) const {
  ActiveMask<MemorySpace> own_active = active;
  own_active.offset += chunks_.chunk(rank_).begin;
  codec_.reduce(exec, rank_, codec_.blocks_in_chunk(rank_, slice.elements), chunks_.ranks(), received_,
                own_active, state_.server_error, part_of(replies_, codec_.message().piece(rank_)));
}

std::size_t CompressedMean::bytes_sent() const {
  const std::size_t own = codec_.message().piece(rank_).bytes;
  const auto others = static_cast<std::size_t>(chunks_.ranks() - 1);
  return codec_.message().total_bytes() - own + others * own;
}

}  // namespace kadam
