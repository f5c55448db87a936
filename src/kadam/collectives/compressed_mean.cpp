// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/compressed_mean.hpp>

namespace kadam {

CompressedMean::CompressedMean(const ExecutionSpace& exec, const AnyQuantiser& quantiser,
                               const ChunkLayout& chunks, std::int64_t block_elements, int rank)
    : chunks_(chunks),
      rank_(rank),
      // With one rank there is nobody to send to: the identity code leaves no error.
      codec_(chunks.ranks() == 1 ? AnyQuantiser(IdentityQuantiser{}) : quantiser, chunks, block_elements),
      message_pieces_(codec_.message().pieces()) {
  const std::size_t own_bytes = message_pieces_[static_cast<std::size_t>(rank)].bytes;
  for (std::size_t r = 0; r < message_pieces_.size(); ++r)
    received_pieces_.push_back({r * own_bytes, own_bytes});
  const auto words = [](std::size_t bytes) {
    return static_cast<std::int64_t>(bytes / sizeof(std::uint32_t));
  };
  state_.worker_error = allocate_zeros<float>(exec, "kadam::CompressedMean::worker_error", chunks.elements());
  // Messages that say 0: what health figures read before the first exchange.
  messages_ = allocate_zeros<std::uint32_t>(exec, "kadam::CompressedMean::messages",
                                            words(codec_.message().total_bytes()));
  if (chunks.ranks() == 1) return;
  state_.server_error =
      allocate_zeros<float>(exec, "kadam::CompressedMean::server_error", chunks.chunk(rank).elements());
  received_ = allocate<std::uint32_t>(exec, "kadam::CompressedMean::received",
                                      words(own_bytes) * static_cast<std::int64_t>(message_pieces_.size()));
}

void CompressedMean::exchange_accumulated(const ExecutionSpace& exec, Communicator& communicator,
                                          Phases& phases, const ActiveMask<MemorySpace>& active) {
  {
    const auto scope = phases.enter(exec, Phase::encode);
    codec_.encode(exec, active, state_.worker_error, messages_);
  }
  if (chunks_.ranks() > 1) exchange_messages(exec, communicator, phases, active);
}

void CompressedMean::exchange_messages(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                                       const ActiveMask<MemorySpace>& active) {
  {
    const auto scope = phases.enter(exec, Phase::exchange);
    communicator.all_to_all(exec, Traffic::compressed, bytes_of(messages_), message_pieces_,
                            bytes_of(received_), received_pieces_);
  }
  {
    const auto scope = phases.enter(exec, Phase::encode);
    const Piece own = message_pieces_[static_cast<std::size_t>(rank_)];
    const std::size_t first = own.offset_bytes / sizeof(std::uint32_t);
    const Words<MemorySpace> reply =
        Kokkos::subview(messages_, Kokkos::make_pair(first, first + own.bytes / sizeof(std::uint32_t)));
    ActiveMask<MemorySpace> own_active = active;
    own_active.offset += chunks_.chunk(rank_).begin;
    codec_.reduce(exec, rank_, chunks_.ranks(), received_, own_active, state_.server_error, reply);
  }
  const auto scope = phases.enter(exec, Phase::exchange);
  communicator.all_gather(exec, Traffic::compressed, bytes_of(messages_), message_pieces_);
}

std::size_t CompressedMean::bytes_sent() const {
  const std::size_t own = message_pieces_[static_cast<std::size_t>(rank_)].bytes;
  const auto others = static_cast<std::size_t>(chunks_.ranks() - 1);
  return codec_.message().total_bytes() - own + others * own;
}

}  // namespace kadam
