// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/compressed_mean.hpp>
#include <kadam/collectives/pipelined_reduction.hpp>
#include <kadam/kernels/element_of.hpp>

#include <array>

namespace kadam {
namespace {

/// out(i) <- what the message says of element i.
struct WriteValue {
  Vector<float> out;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float value) const {
    out(i) = value;
  }
};

}  // namespace

CompressedMean::CompressedMean(const ExecutionSpace& exec, const AnyQuantiser& quantiser,
                               const Communicator& communicator, std::int64_t elements,
                               std::int64_t block_elements)
    : node_(exec, communicator, elements),
      chunks_(NodeLevel::chunks_of_shard(communicator, elements)),
      rank_(communicator.across().rank()) {
  // Where there is nobody to send to, the identity code leaves no error.
  const AnyQuantiser code = chunks_.ranks() == 1 ? AnyQuantiser(IdentityQuantiser{}) : quantiser;
  codec_ = BlockCodec(code, ChunkLayout(elements, communicator.size()), block_elements);
  of_chunks_ = BlockCodec(code, chunks_, block_elements);
  state_.worker_error =
      allocate_zeros<float>(exec, "kadam::CompressedMean::worker_error", chunks_.elements());
  // Messages that say 0: what health figures read before the first exchange.
  replies_ = allocate_zeros<std::uint32_t>(exec, "kadam::CompressedMean::replies",
                                           words_of(codec_.message().total_bytes()));
  own_replies_ = part_of(replies_, codec_.message().piece(node_.shard()));
  if (node_.exists()) {
    input_ = allocate_zeros<float>(exec, "kadam::CompressedMean::input", elements);
    node_mean_ = allocate<float>(exec, "kadam::CompressedMean::node_mean", chunks_.elements());
  }
  if (chunks_.ranks() == 1) return;
  const BlockMessage& message = of_chunks_.message();
  state_.server_error =
      allocate_zeros<float>(exec, "kadam::CompressedMean::server_error", chunks_.chunk(rank_).elements());
  messages_ =
      allocate<std::uint32_t>(exec, "kadam::CompressedMean::messages", words_of(message.total_bytes()));
  received_ = allocate<std::uint32_t>(exec, "kadam::CompressedMean::received",
                                      words_of(message.piece(rank_).bytes) * chunks_.ranks());
}

void CompressedMean::run(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                         const ActiveMask<MemorySpace>& active, const Arrived& arrived,
                         const Encode& encode) {
  if (chunks_.ranks() == 1) {
    const auto scope = phases.enter(exec, Phase::encode);
    encode(of_chunks_.message().map());
    if (arrived) arrived({0, chunks_.elements()});
    return;
  }
  cut_messages(slices_, of_chunks_.message(), communicator.piece_bytes());
  ReductionSteps steps;
  steps.encode = [&](int chunk, const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    encode(of_chunks_.blocks_of(slice.elements));
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
                                     Lane{bytes_of(own_replies_), bytes_of(own_replies_)}};
  Exchange exchange(exec, communicator, Traffic::compressed, lanes);
  ReductionRun run(slices_, rank_, ReductionRun::Replies::to_all, exchange, steps);
  run_reduction(exec, phases, run);
}

void CompressedMean::reduce(const ExecutionSpace& exec, const Slice& slice,
                            const ActiveMask<MemorySpace>& active) const {
  ActiveMask<MemorySpace> own_active = active;
  own_active.offset += chunks_.chunk(rank_).begin;
  of_chunks_.reduce(exec, rank_, of_chunks_.blocks_in_chunk(rank_, slice.elements), chunks_.ranks(),
                    received_, own_active, state_.server_error,
                    part_of(own_replies_, of_chunks_.message().piece(rank_)));
}

void CompressedMean::exchange(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                              const Vector<const float>& y, const ActiveMask<MemorySpace>& active,
                              const Arrived& arrived) {
  if (node_.exists()) {
    exchange_in_two_levels(exec, communicator, phases, y, active, arrived);
    return;
  }
  run(exec, communicator, phases, active, arrived, [&](const BlockRange& blocks) {
    codec_.encode(exec, blocks, ElementOf<MemorySpace>{y}, active, state_.worker_error, outgoing());
  });
}

void CompressedMean::write_mean(const ExecutionSpace& exec, const ActiveMask<MemorySpace>& active,
                                const Vector<float>& values) const {
  decode(exec, active, 0, chunks_of_all().elements(), WriteValue{values});
}

void CompressedMean::exchange_accumulated(const ExecutionSpace& exec, Communicator& communicator,
                                          Phases& phases, const ActiveMask<MemorySpace>& active,
                                          const Arrived& arrived) {
  if (node_.exists()) {
    exchange_in_two_levels(exec, communicator, phases, input_, active, arrived);
    Kokkos::deep_copy(exec, input_, 0.0F);
    return;
  }
  run(exec, communicator, phases, active, arrived, [&](const BlockRange& blocks) {
    codec_.encode(exec, blocks, active, state_.worker_error, outgoing());
  });
}

void CompressedMean::exchange_in_two_levels(const ExecutionSpace& exec, Communicator& communicator,
                                            Phases& phases, const Vector<const float>& y,
                                            const ActiveMask<MemorySpace>& active, const Arrived& arrived) {
  node_.mean(exec, communicator, phases, y, node_mean_);
  ActiveMask<MemorySpace> active_in_shard = active;
  active_in_shard.offset += node_.shard().begin;
  const ElementOf<MemorySpace> load{node_mean_};
  run(exec, communicator.across(), phases, active_in_shard, {}, [&](const BlockRange& blocks) {
    of_chunks_.encode(exec, blocks, load, active_in_shard, state_.worker_error, outgoing());
  });
  node_.gather(exec, communicator, phases, bytes_of(replies_),
               [&](const ElementRange& shard) { return codec_.message().piece(shard); });
  if (!arrived) return;
  const auto scope = phases.enter(exec, Phase::decode);
  arrived({0, chunks_of_all().elements()});
}

void CompressedMean::describe_state(StateFields& fields) const {
  using IfMissing = StateVector::IfMissing;
  const std::int64_t d = chunks_of_all().elements();
  const ElementRange& shard = node_.shard();
  fields.vector("worker_error", state_.worker_error,
                {d, shard, chunks_.ranks(), chunks_.ranks() == 1 ? 0 : rank_}, IfMissing::zero);
  if (chunks_.ranks() == 1) {
    fields.vector("server_error", state_.worker_error, {d, shard, 1, 0}, IfMissing::add);
    return;
  }
  const ElementRange own = chunks_.chunk(rank_);
  fields.vector("server_error", state_.server_error,
                {d, {shard.begin + own.begin, shard.begin + own.end}, 1, 0}, IfMissing::zero);
}

void CompressedMean::describe_message(StateFields& fields) const {
  fields.equal_bytes("message", replies_);
}

double CompressedMean::squared_error(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const {
  return node_.ranks() *
         ordered_sum(exec, chunks_.elements(), SquareOf<MemorySpace>{state_.worker_error}, space);
}

std::size_t CompressedMean::bytes_sent() const {
  const std::size_t own = of_chunks_.message().piece(rank_).bytes;
  const auto others = static_cast<std::size_t>(chunks_.ranks() - 1);
  return of_chunks_.message().total_bytes() - own + others * own;
}

std::size_t CompressedMean::node_bytes_sent() const {
  return node_.mean_bytes_sent() +
         node_.gather_bytes_sent([&](const ElementRange& shard) { return codec_.message().piece(shard); });
}

}  // namespace kadam
