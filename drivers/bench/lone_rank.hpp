// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace kadam::bench {

/// Messages that were handed to a transport.
struct Tally {
  std::size_t messages = 0;
  std::size_t bytes = 0;
  std::size_t longest_bytes = 0;

  Tally& operator+=(const Tally& other);
};

/// What a lone rank sends; background threads count as well.
class SentMessages {
 public:
  enum class Kind : std::uint8_t { agreement, exchange, in_node };

  void add(Kind kind, std::size_t bytes);
  [[nodiscard]] Tally of(Kind kind) const;
  /// Counts from 0.
  void forget();

 private:
  mutable std::mutex mutex_;
  std::array<Tally, 3> tallies_;
};

/// Plays one rank of n without the others, so that one process sees what a rank of many does: its messages
/// are counted and go nowhere.
///
/// The others are its mirrors: to a message, each answers with the very same one. Where a rank expects
/// another length from a mirror, or something that it sends nothing for (the chunk of one of the two is
/// shorter), it gets as many zeros, which every message format reads as the value 0. So results mean nothing,
/// but a rank encodes, reduces and decodes all that it would among n. In host memory only.
///
/// Communicator::form_levels(0) makes two levels of ranks_per_node consecutive ranks.
class LoneRankTransport final : public Transport {
 public:
  /// ranks_per_node divides ranks. sent: what is counted, of all that are made from this as well.
  LoneRankTransport(int rank, int ranks, std::shared_ptr<SentMessages> sent, int ranks_per_node = 1);

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return ranks_; }
  [[nodiscard]] bool accepts_device_memory() const override { return true; }
  [[nodiscard]] bool allows_threads() const override { return true; }
  [[nodiscard]] std::string description() const override;

  [[nodiscard]] std::unique_ptr<Messages> messages() override;
  /// By log2 n messages, as transports over single messages do it; all ranks say the same.
  [[nodiscard]] bool all_gather(std::byte* all, std::size_t bytes, Seconds patience) override;
  [[nodiscard]] std::vector<int> missing_ranks(Seconds /*patience*/) override { return {}; }
  /// Leaves the values as they are. Not counted.
  void all_reduce_sum(float* /*values*/, std::size_t /*count*/) override {}
  [[nodiscard]] std::unique_ptr<Transport> duplicate() override;
  /// The ranks with this one's place in their nodes, whatever the colour.
  [[nodiscard]] std::unique_ptr<Transport> split(int colour) override;
  [[nodiscard]] std::unique_ptr<Transport> split_by_node() override;

 private:
  [[nodiscard]] std::unique_ptr<LoneRankTransport> part(int rank, int ranks, SentMessages::Kind kind) const;

  int rank_;
  int ranks_;
  int ranks_per_node_;
  SentMessages::Kind kind_ = SentMessages::Kind::exchange;
  std::shared_ptr<SentMessages> sent_;
  std::vector<std::byte> gathered_;
};

}  // namespace kadam::bench
