// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/cost/cost.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/wire/sparse_message.hpp>

#include <cstdint>

namespace kadam {

/// Who sums what ranks select: every rank all of it, or the owner of a region that region.
enum class SparseExchange : std::uint8_t { own, owner };

struct SparseOptions {
  double density = 0.01;
  std::int64_t select_block = 4096;  ///< 0: one block, with owners one per region; at most 65536
  SparseExchange exchange = SparseExchange::own;
};

/// What SparseMean exchanges and holds, without its buffers. It has one level: a sparse message is short.
class SparseMeanLayout {
 public:
  SparseMeanLayout() = default;
  /// Errors: std::invalid_argument for a density outside (0, 1] or a select_block outside [0, 65536].
  SparseMeanLayout(const SparseOptions& options, std::int64_t elements, int ranks, int rank);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bool has_owners() const { return options_.exchange == SparseExchange::owner; }
  [[nodiscard]] const SparseMessage& message() const { return message_; }
  /// Whether blocks are too long for one thread or team: all select from one after the other.
  [[nodiscard]] bool selects_together() const {
    return message_.map().block_elements > SparseMessage::largest_select_block;
  }
  [[nodiscard]] ElementRange own_region() const { return message_.region(ranks_, rank_); }
  /// Of the messages that come from all ranks: the own region's, or everybody's whole one.
  [[nodiscard]] std::size_t received_bytes() const;

  /// Of a delivery, on a CPU with so many threads or, with 0, on a GPU.
  [[nodiscard]] Cost cost(std::int64_t threads) const;

 private:
  [[nodiscard]] Kernel selection() const;
  void add_sum_by_all(std::int64_t threads, Cost& cost) const;
  void add_sum_by_owners(Cost& cost) const;

  SparseOptions options_;
  int ranks_ = 1;
  int rank_ = 0;
  SparseMessage message_;
};

}  // namespace kadam
