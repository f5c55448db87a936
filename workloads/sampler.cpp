// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/random.hpp>
#include <workloads/sampler.hpp>

#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace kadam::workloads {

void SamplerOptions::validate() const {
  const std::string who = "kadam::workloads::SamplerOptions: ";
  if (batch_per_rank < 1 || ranks < 1) {
    throw std::invalid_argument(who + std::to_string(batch_per_rank) + " examples for each of " +
                                std::to_string(ranks) + " ranks, expected at least 1 of each");
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
}

Sampler::Sampler(const SamplerOptions& options, std::uint64_t seed, std::vector<std::int64_t> shard)
    : Sampler(options, seed) {
  shard_ = std::move(shard);
  if (static_cast<std::int64_t>(shard_.size()) < options_.batch_per_rank) {
    throw std::invalid_argument("kadam::workloads::Sampler: a shard of " + std::to_string(shard_.size()) +
                                " examples is smaller than a batch of " +
                                std::to_string(options_.batch_per_rank));
  }
}

std::span<const std::int64_t> Sampler::next() {
  if (options_.examples - state_.position < global_batch()) {
    state_ = {state_.seed, state_.epoch + 1, 0};
  }
  const Place place = next_place();
  if (place.epoch != shuffled_epoch_) {
    shuffle_for(place.epoch);
  }
  state_.position += global_batch();
  return std::span(permutation_)
      .subspan(static_cast<std::size_t>(place.begin), static_cast<std::size_t>(options_.batch_per_rank));
}

Sampler::Place Sampler::next_place() const {
  if (shard_.empty()) {
    return {state_.epoch, state_.position + options_.rank * options_.batch_per_rank};
  }
  const std::int64_t taken = state_.epoch * batches_per_epoch() + state_.position / global_batch();
  const std::int64_t batches = static_cast<std::int64_t>(shard_.size()) / options_.batch_per_rank;
  return {taken / batches, taken % batches * options_.batch_per_rank};
}

void Sampler::restore(const SamplerState& state) {
  const std::string who = "kadam::workloads::Sampler: ";
  if (state.epoch < 0 || state.position < 0 || state.position > options_.examples) {
    throw std::invalid_argument(
        who + "epoch " + std::to_string(state.epoch) + " and position " + std::to_string(state.position) +
        " cannot be restored, expected an epoch of 0 or more and a position from 0 to " +
        std::to_string(options_.examples) + ": this state belongs to other data");
  }
  if (!shard_.empty() && state.position % global_batch() != 0) {
    throw std::invalid_argument(
        who + "position " + std::to_string(state.position) + " cannot be restored, expected a multiple of " +
        std::to_string(global_batch()) + ": a run with shards can only continue on the same number of ranks");
  }
  state_ = state;
  shuffled_epoch_ = -1;
}

void Sampler::shuffle_for(std::int64_t epoch) {
  permutation_ = shard_;
  if (shard_.empty()) {
    permutation_.resize(static_cast<std::size_t>(options_.examples));
    std::iota(permutation_.begin(), permutation_.end(), std::int64_t{0});
  }
  shuffle(std::span(permutation_), random_bits(state_.seed, static_cast<std::uint64_t>(epoch)));
  shuffled_epoch_ = epoch;
}

}  // namespace kadam::workloads
