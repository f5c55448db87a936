// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/low_bit_reduce_scatter.hpp>
#include <kadam/collectives/pipelined_reduction.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/kernels/step_ahead.hpp>

namespace kadam {
namespace {

/// f(i) = e(i)^2
struct SquareOfByteError {
  ByteError<MemorySpace> error;
  BlockMap map;
  KOKKOS_FORCEINLINE_FUNCTION double operator()(const std::int64_t i) const {
    const auto value =
        static_cast<double>(UniformQuantiser<8>{}.decode(error.codes(i), error.steps(map.block_of(i))));
    return value * value;
  }
};

}  // namespace

LowBitLayout::LowBitLayout(const Arrangement& ranks, const AnyQuantiser& quantiser, std::int64_t elements,
                           std::int64_t block_elements, NumberFormat gradients)
    : elements_(elements),
      gradients_(gradients),
      code_(figures_of(quantiser)),
      node_(ranks, elements, gradients),
      codec_(quantiser, ranks.chunks_of_shard(elements), block_elements),
      owner_(ranks.owner) {}

Cost LowBitLayout::cost() const {
  Cost cost;
  const std::int64_t own = chunks().chunk(owner_).elements();
  MemoryUse& memory = cost.memory;
  memory.workspace_bytes = sizeof(float) * static_cast<std::size_t>(own);
  const BlockMessage& message = codec_.message();
  const std::size_t own_bytes = message.piece(owner_).bytes;
  cost.transfers = {{Pattern::all_to_all, Traffic::compressed, message.total_bytes() - own_bytes}};
  if (compresses()) {
    const std::size_t own_from_all = own_bytes * static_cast<std::size_t>(chunks().ranks());
    cost.work = {{cost::loco_encode(code_.name, code_.bits), static_cast<double>(chunks().elements())},
                 {cost::loco_mean, static_cast<double>(own * chunks().ranks())}};
    memory.state_bytes = static_cast<std::size_t>(chunks().elements()) +
                         sizeof(float) * static_cast<std::size_t>(message.map().blocks);
    memory.workspace_bytes += message.total_bytes() + own_from_all;
  } else {
    cost.work = {{cost::copy, static_cast<double>(own)}};
  }
  if (!node_.exists()) return cost;
  node_.precede(gradients_, cost);
  memory.workspace_bytes += bytes_per_number(gradients_) * static_cast<std::size_t>(node_.shard().elements());
  return cost;
}

LowBitReduceScatter::LowBitReduceScatter(const ExecutionSpace& exec, const AnyQuantiser& quantiser,
                                         Communicator& communicator, std::int64_t elements,
                                         std::int64_t block_elements, double error_beta,
                                         NumberFormat gradients)
    : layout_(communicator.arrangement(), quantiser, elements, block_elements, gradients),
      communicator_(&communicator),
      node_(exec, communicator, layout_.node()),
      error_beta_(error_beta) {
  const ChunkLayout& chunks = layout_.chunks();
  const BlockMessage& message = layout_.codec().message();
  const int rank = layout_.owner();
  mean_ = allocate<float>(exec, "kadam::LowBitReduceScatter::mean", chunks.chunk(rank).elements());
  if (node_.exists()) {
    node_mean_ =
        allocate<std::byte>(exec, "kadam::LowBitReduceScatter::node_mean",
                            static_cast<std::int64_t>(bytes_per_number(gradients)) * chunks.elements());
  }
  if (!layout_.compresses()) return;
  error_.codes = allocate_zeros<std::uint8_t>(exec, "kadam::LowBitReduceScatter::error", chunks.elements());
  error_.steps = allocate_zeros<float>(exec, "kadam::LowBitReduceScatter::error_steps", message.map().blocks);
  messages_ =
      allocate<std::uint32_t>(exec, "kadam::LowBitReduceScatter::messages", words_of(message.total_bytes()));
  received_ = allocate<std::uint32_t>(exec, "kadam::LowBitReduceScatter::received",
                                      words_of(message.piece(rank).bytes) * chunks.ranks());
}

Numbers<MemorySpace> LowBitReduceScatter::mean_of_node(const ExecutionSpace& exec, Phases& phases,
                                                       const Numbers<MemorySpace>& gradient) {
  if (!node_.exists()) return gradient;
  Numbers<MemorySpace> mean;
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& values) {
    const Vector<T> own = numbers_in<T>(node_mean_, layout_.chunks().elements());
    node_.mean(exec, phases, Vector<const T>(values), own);
    mean = own;
  });
  return mean;
}

Vector<float> LowBitReduceScatter::operator()(const ExecutionSpace& exec, Phases& phases,
                                              const Numbers<MemorySpace>& gradient, float gradient_scale,
                                              const ActiveMask<MemorySpace>& active) {
  const Numbers<MemorySpace> input = mean_of_node(exec, phases, gradient);
  ActiveMask<MemorySpace> active_in_shard = active;
  active_in_shard.offset += node_.shard().begin;
  if (!layout_.compresses()) {
    const auto scope = phases.enter(exec, Phase::decode);
    scale_numbers(exec, gradient_scale, input, mean_);
    if (owed_.extent(0) > 0) deliver_owed(exec);
    return mean_;
  }
  const BlockCodec& codec = layout_.codec();
  const int rank = layout_.owner();
  Communicator& owners = communicator_->across();
  cut_messages(slices_, codec.message(), owners.piece_bytes());
  ReductionSteps steps;
  steps.encode = [&](int chunk, const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    codec.encode(exec, codec.blocks_of(slice.elements), input, gradient_scale, active_in_shard, error_,
                 Ema::make(error_beta_), messages_);
    if (chunk == rank) keep_own_message(exec, slices_, rank, slice, messages_, received_);
  };
  steps.reduce = [&](const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::decode);
    codec.mean(exec, rank, codec.blocks_in_chunk(rank, slice.elements), layout_.chunks().ranks(), received_,
               mean_);
  };
  const ExchangeBuffers buffers{bytes_of(messages_), bytes_of(received_)};
  Exchange exchange(exec, owners, Traffic::compressed, {&buffers, 1});
  ReductionRun run(slices_, rank, ReductionRun::Replies::none, exchange, steps);
  run_reduction(exec, phases, run);
  return mean_;
}

/// mean <- mean + e;  e <- 0
void LowBitReduceScatter::deliver_owed(const ExecutionSpace& exec) {
  step_ahead<ExecutionSpace, MemorySpace>(exec, -1.0F, mean_, owed_, mean_);
  exec.fence("kadam::LowBitReduceScatter::deliver_owed");
  owed_ = {};
}

void LowBitReduceScatter::describe_state(const ExecutionSpace& exec, StateFields& fields) const {
  using IfMissing = StateVector::IfMissing;
  const std::int64_t d = layout_.chunks().elements();
  if (!layout_.compresses()) {
    const Vector<float> owed =
        fields.saves() ? owed_ : allocate<float>(exec, "kadam::LowBitReduceScatter::owed", d);
    if (owed.extent(0) > 0)
      fields.vector("error", owed, {layout_.elements(), node_.shard(), 1, 0}, IfMissing::zero);
    return;
  }
  const Vector<float> values = allocate<float>(exec, "kadam::LowBitReduceScatter::error_values", d);
  if (fields.saves()) {
    decode_byte_error<ExecutionSpace, MemorySpace>(exec, layout_.codec().message().map(), error_, values);
  }
  fields.vector("error", values,
                {layout_.elements(), node_.shard(), layout_.chunks().ranks(), layout_.owner()},
                IfMissing::zero);
  fields.bytes_of_each_rank("error_steps", error_.steps);
}

void LowBitReduceScatter::adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                                      bool with_its_steps) {
  if (!layout_.compresses()) {
    owed_ = fields.vector("error");
    return;
  }
  encode_byte_error<ExecutionSpace, MemorySpace>(exec, layout_.codec().message().map(),
                                                 fields.vector("error"), with_its_steps, error_);
}

void LowBitReduceScatter::reset_error(const ExecutionSpace& exec) const {
  Kokkos::deep_copy(exec, error_.steps, 0.0F);
}

double LowBitReduceScatter::squared_error(const ExecutionSpace& exec,
                                          const SumSpace<MemorySpace>& space) const {
  if (!layout_.compresses()) return 0.0;
  return layout_.node().ranks() * ordered_sum(exec, layout_.chunks().elements(),
                                              SquareOfByteError{error_, layout_.codec().message().map()},
                                              space);
}

}  // namespace kadam
