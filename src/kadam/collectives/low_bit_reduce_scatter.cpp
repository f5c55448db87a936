// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/low_bit_reduce_scatter.hpp>

namespace kadam {
namespace {

/// f(i) = e(i)^2
struct SquareOfByteError {
  ByteError<MemorySpace> error;
  detail::BlockMap map;
  KOKKOS_FORCEINLINE_FUNCTION double operator()(const std::int64_t i) const {
    const auto value =
        static_cast<double>(UniformQuantiser<8>{}.decode(error.codes(i), error.steps(map.block_of(i))));
    return value * value;
  }
};

}  // namespace

LowBitReduceScatter::LowBitReduceScatter(const ExecutionSpace& exec, const AnyQuantiser& quantiser,
                                         const ChunkLayout& chunks, std::int64_t block_elements,
                                         double error_beta, int rank)
    : chunks_(chunks),
      rank_(rank),
      error_beta_(error_beta),
      codec_(quantiser, chunks, block_elements),
      message_pieces_(codec_.message().pieces()) {
  const std::int64_t own = chunks.chunk(rank).elements();
  mean_ = allocate<float>(exec, "kadam::LowBitReduceScatter::mean", own);
  if (chunks.ranks() == 1) return;
  const std::size_t own_bytes = message_pieces_[static_cast<std::size_t>(rank)].bytes;
  received_pieces_.reserve(message_pieces_.size());
  for (std::size_t r = 0; r < message_pieces_.size(); ++r) {
    received_pieces_.push_back({r * own_bytes, own_bytes});
  }
  const auto words = [](std::size_t bytes) {
    return static_cast<std::int64_t>(bytes / sizeof(std::uint32_t));
  };
  error_.codes = allocate_zeros<std::uint8_t>(exec, "kadam::LowBitReduceScatter::error", chunks.elements());
  error_.steps =
      allocate_zeros<float>(exec, "kadam::LowBitReduceScatter::error_steps", codec_.message().map().blocks);
  messages_ = allocate<std::uint32_t>(exec, "kadam::LowBitReduceScatter::messages",
                                      words(codec_.message().total_bytes()));
  received_ = allocate<std::uint32_t>(exec, "kadam::LowBitReduceScatter::received",
                                      words(own_bytes) * chunks.ranks());
}

Vector<float> LowBitReduceScatter::operator()(const ExecutionSpace& exec, Communicator& communicator,
                                              Phases& phases, const Numbers<MemorySpace>& gradient,
                                              float gradient_scale, const ActiveMask<MemorySpace>& active) {
  if (chunks_.ranks() == 1) {
    const auto scope = phases.enter(exec, Phase::decode);
    scale_numbers(exec, gradient_scale, gradient, mean_);
    return mean_;
  }
  {
    const auto scope = phases.enter(exec, Phase::encode);
    codec_.encode(exec, gradient, gradient_scale, active, error_, Ema::make(error_beta_), messages_);
  }
  {
    const auto scope = phases.enter(exec, Phase::exchange);
    communicator.all_to_all(exec, Traffic::compressed, bytes_of(messages_), message_pieces_,
                            bytes_of(received_), received_pieces_);
  }
  const auto scope = phases.enter(exec, Phase::decode);
  codec_.mean(exec, rank_, chunks_.ranks(), received_, mean_);
  return mean_;
}

void LowBitReduceScatter::reset_error(const ExecutionSpace& exec) const {
  Kokkos::deep_copy(exec, error_.steps, 0.0F);
}

double LowBitReduceScatter::squared_error(const ExecutionSpace& exec,
                                          const SumSpace<MemorySpace>& space) const {
  if (chunks_.ranks() == 1) return 0.0;
  return ordered_sum(exec, chunks_.elements(), SquareOfByteError{error_, codec_.message().map()}, space);
}

std::size_t LowBitReduceScatter::bytes_sent() const {
  if (chunks_.ranks() == 1) return 0;
  return codec_.message().total_bytes() - message_pieces_[static_cast<std::size_t>(rank_)].bytes;
}

}  // namespace kadam
