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

/// Count of messages handed to a transport.
struct Tally {
  std::size_t messages = 0;
  std::size_t bytes = 0;
  std::size_t longest_bytes = 0;

  Tally& operator+=(const Tally& other);
};

/// Tallies of the messages that a lone rank sends, by kind. Thread-safe: background threads count as well.
class SentMessages {
 public:
  enum class Kind : std::uint8_t { agreement, exchange, in_node };

  void add(Kind kind, std::size_t bytes);
  [[nodiscard]] Tally of(Kind kind) const;
  /// Sets all tallies to 0.
  void forget();

 private:
  mutable std::mutex mutex_;
  std::array<Tally, 3> tallies_;
};

/// Plays one rank of n without the others, so that one process can measure a rank of many. Its messages are
/// counted and go nowhere.
///
/// The others are mirrors: each answers a message with the same bytes. Where the rank expects another length
/// from a mirror, or a message where it sends none (one of the two chunks is shorter), it receives zeros,
/// which every message format reads as the value 0. So results mean nothing, but the rank encodes, reduces
/// and decodes all that it would among n. In host memory only.
///
/// Communicator::form_levels(0) makes two levels of ranks_per_node consecutive ranks.
class LoneRankTransport final : public Transport {
 public:
  /// sent: tallies of this transport and of all that are split or duplicated from it. Errors:
  /// std::invalid_argument unless ranks_per_node divides ranks.
  LoneRankTransport(int rank, int ranks, std::shared_ptr<SentMessages> sent, int ranks_per_node = 1);

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return ranks_; }
  [[nodiscard]] bool accepts_device_memory() const override { return true; }
  [[nodiscard]] bool allows_threads() const override { return true; }
  [[nodiscard]] std::string description() const override;

  [[nodiscard]] std::unique_ptr<Messages> messages() override;
  /// Sends about log2 n messages, as transports over single messages do; all ranks contribute the same bytes.
  [[nodiscard]] bool all_gather(std::byte* all, std::size_t bytes, Seconds patience) override;
  [[nodiscard]] std::vector<int> missing_ranks(Seconds /*patience*/) override { return {}; }
  /// Leaves the values as they are. Not counted.
  void all_reduce_sum(float* /*values*/, std::size_t /*count*/) override {}
  [[nodiscard]] std::unique_ptr<Transport> duplicate() override;
  /// The ranks with this rank's number in their nodes, whatever the colour.
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
