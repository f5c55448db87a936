// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <workloads/random.hpp>
#include <workloads/sampler.hpp>

namespace kadam::workloads {

void SamplerOptions::validate() const {
  const std::string who = "kadam::workloads::SamplerOptions: ";
  if (batch_per_rank < 1 || ranks < 1) {
    throw std::invalid_argument(who + std::to_string(batch_per_rank) + " examples for each of " +
                                std::to_string(ranks) + " ranks, expected at least 1 of both");
  }
  if (rank < 0 || rank >= ranks) {
    throw std::invalid_argument(who + "rank is " + std::to_string(rank) + ", expected 0 to " +
                                std::to_string(ranks - 1));
  }
  if (examples < 1 || examples / ranks < batch_per_rank) {
    throw std::invalid_argument(who + std::to_string(examples) + " examples are fewer than one batch of " +
                                std::to_string(batch_per_rank) + " for each of " + std::to_string(ranks) +
                                " ranks: take a smaller batch, fewer ranks or more data");
  }
}

Sampler::Sampler(const SamplerOptions& options, std::uint64_t seed) : options_(options), state_{seed, 0, 0} {
  options_.validate();
  shuffle();
}

std::span<const std::int64_t> Sampler::next() {
  if (options_.examples - state_.position < global_batch()) {
    state_ = {state_.seed, state_.epoch + 1, 0};
    shuffle();
  }
  const std::int64_t begin = state_.position + options_.rank * options_.batch_per_rank;
  state_.position += global_batch();
  return std::span(permutation_)
      .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(options_.batch_per_rank));
}

void Sampler::restore(const SamplerState& state) {
  if (state.epoch < 0 || state.position < 0 || state.position > options_.examples) {
    throw std::invalid_argument("kadam::workloads::Sampler: epoch " + std::to_string(state.epoch) +
                                " and position " + std::to_string(state.position) +
                                " cannot be restored, expected neither below 0 and a position of at most " +
                                std::to_string(options_.examples) + ": it belongs to other data");
  }
  state_ = state;
  shuffle();
}

/// Fisher and Yates' shuffle (Durstenfeld 1964).
void Sampler::shuffle() {
  permutation_.resize(static_cast<std::size_t>(options_.examples));
  std::iota(permutation_.begin(), permutation_.end(), std::int64_t{0});
  const std::uint64_t stream = random_bits(state_.seed, static_cast<std::uint64_t>(state_.epoch));
  std::uint64_t counter = 0;
  for (std::size_t i = permutation_.size(); i > 1; --i) {
    std::swap(permutation_[i - 1], permutation_[random_below(stream, counter, i)]);
  }
}

}  // namespace kadam::workloads
