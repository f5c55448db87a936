// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/low_bit_reduce_scatter.hpp>
#include <kadam/collectives/pipelined_reduction.hpp>
#include <kadam/collectives/sliced_messages.hpp>
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

LowBitReduceScatter::LowBitReduceScatter(const ExecutionSpace& exec, const AnyQuantiser& quantiser,
                                         const Communicator& communicator, std::int64_t elements,
                                         std::int64_t block_elements, double error_beta,
                                         NumberFormat gradients)
    : elements_(elements),
      gradients_(gradients),
      node_(exec, communicator, elements, gradients),
      chunks_(NodeLevel::chunks_of_shard(communicator, elements)),
      rank_(communicator.across().rank()),
      error_beta_(error_beta),
      codec_(quantiser, chunks_, block_elements) {
  mean_ = allocate<float>(exec, "kadam::LowBitReduceScatter::mean", chunks_.chunk(rank_).elements());
  if (node_.exists()) {
    node_mean_ =
        allocate<std::byte>(exec, "kadam::LowBitReduceScatter::node_mean",
                            static_cast<std::int64_t>(bytes_per_number(gradients)) * chunks_.elements());
  }
  if (chunks_.ranks() == 1) return;
  error_.codes = allocate_zeros<std::uint8_t>(exec, "kadam::LowBitReduceScatter::error", chunks_.elements());
  error_.steps =
      allocate_zeros<float>(exec, "kadam::LowBitReduceScatter::error_steps", codec_.message().map().blocks);
  messages_ = allocate<std::uint32_t>(exec, "kadam::LowBitReduceScatter::messages",
                                      words_of(codec_.message().total_bytes()));
  received_ = allocate<std::uint32_t>(exec, "kadam::LowBitReduceScatter::received",
                                      words_of(codec_.message().piece(rank_).bytes) * chunks_.ranks());
}

Numbers<MemorySpace> LowBitReduceScatter::mean_of_node(const ExecutionSpace& exec, Communicator& communicator,
                                                       Phases& phases, const Numbers<MemorySpace>& gradient) {
  if (!node_.exists()) return gradient;
  Numbers<MemorySpace> mean;
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& values) {
    const Vector<T> own = numbers_in<T>(node_mean_, chunks_.elements());
    node_.mean(exec, communicator, phases, Vector<const T>(values), own);
    mean = own;
  });
  return mean;
}

Vector<float> LowBitReduceScatter::operator()(const ExecutionSpace& exec, Communicator& communicator,
                                              Phases& phases, const Numbers<MemorySpace>& gradient,
                                              float gradient_scale, const ActiveMask<MemorySpace>& active) {
  const Numbers<MemorySpace> input = mean_of_node(exec, communicator, phases, gradient);
  ActiveMask<MemorySpace> active_in_shard = active;
  active_in_shard.offset += node_.shard().begin;
  if (chunks_.ranks() == 1) {
    const auto scope = phases.enter(exec, Phase::decode);
    scale_numbers(exec, gradient_scale, input, mean_);
    if (owed_.extent(0) > 0) deliver_owed(exec);
    return mean_;
  }
  cut_messages(slices_, codec_.message(), communicator.piece_bytes());
  ReductionSteps steps;
  steps.encode = [&](int chunk, const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    codec_.encode(exec, codec_.blocks_of(slice.elements), input, gradient_scale, active_in_shard, error_,
                  Ema::make(error_beta_), messages_);
    if (chunk == rank_) keep_own_message(exec, slices_, rank_, slice, messages_, received_);
  };
  steps.reduce = [&](const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::decode);
    codec_.mean(exec, rank_, codec_.blocks_in_chunk(rank_, slice.elements), chunks_.ranks(), received_,
                mean_);
  };
  const Lane lane{bytes_of(messages_), bytes_of(received_)};
  Exchange exchange(exec, communicator.across(), Traffic::compressed, {&lane, 1});
  ReductionRun run(slices_, rank_, ReductionRun::Replies::none, exchange, steps);
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
  const std::int64_t d = chunks_.elements();
  if (chunks_.ranks() == 1) {
    const Vector<float> owed =
        fields.saves() ? owed_ : allocate<float>(exec, "kadam::LowBitReduceScatter::owed", d);
    if (owed.extent(0) > 0) fields.vector("error", owed, {elements_, node_.shard(), 1, 0}, IfMissing::zero);
    return;
  }
  const Vector<float> values = allocate<float>(exec, "kadam::LowBitReduceScatter::error_values", d);
  if (fields.saves()) {
    decode_byte_error<ExecutionSpace, MemorySpace>(exec, codec_.message().map(), error_, values);
  }
  fields.vector("error", values, {elements_, node_.shard(), chunks_.ranks(), rank_}, IfMissing::zero);
  fields.bytes_of_each_rank("error_steps", error_.steps);
}

void LowBitReduceScatter::adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                                      bool with_its_steps) {
  if (chunks_.ranks() == 1) {
    owed_ = fields.vector("error");
    return;
  }
  encode_byte_error<ExecutionSpace, MemorySpace>(exec, codec_.message().map(), fields.vector("error"),
                                                 with_its_steps, error_);
}

void LowBitReduceScatter::reset_error(const ExecutionSpace& exec) const {
  Kokkos::deep_copy(exec, error_.steps, 0.0F);
}

double LowBitReduceScatter::squared_error(const ExecutionSpace& exec,
                                          const SumSpace<MemorySpace>& space) const {
  if (chunks_.ranks() == 1) return 0.0;
  return node_.ranks() *
         ordered_sum(exec, chunks_.elements(), SquareOfByteError{error_, codec_.message().map()}, space);
}

std::size_t LowBitReduceScatter::bytes_sent() const {
  if (chunks_.ranks() == 1) return 0;
  return codec_.message().total_bytes() - codec_.message().piece(rank_).bytes;
}

}  // namespace kadam
