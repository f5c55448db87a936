// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/cost/cost.hpp>
#include <kadam/kernels/large_top_k.hpp>
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/kernels/top_k.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/wire/sparse_message.hpp>

#include <cstdint>
#include <optional>

namespace kadam {

/// Who sums what ranks select: every rank all of it, or the owner of a region that region.
enum class SparseExchange : std::uint8_t { own, owner };

struct SparseOptions {
  double density = 0.01;
  std::int64_t select_block = 4096;  ///< 0: one block, with owners one per region; at most 65536
  SparseExchange exchange = SparseExchange::own;
  SparseValues values = SparseValues::exact;  ///< two_levels: with exchange own, and blocks of 1 to 4096
};

/// What SparseMean exchanges and holds, without its buffers. It has one level: a sparse message is short.
class SparseMeanLayout {
 public:
  SparseMeanLayout() = default;
  /// Errors: std::invalid_argument for a density outside (0, 1], a select_block outside [0, 65536], or two
  /// levels with owners or with a select_block outside [1, 4096].
  SparseMeanLayout(const SparseOptions& options, std::int64_t elements, int ranks, int rank);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bool has_owners() const { return options_.exchange == SparseExchange::owner; }
  [[nodiscard]] bool has_two_levels() const { return options_.values == SparseValues::two_levels; }
  [[nodiscard]] const SparseMessage& message() const { return message_; }
  /// What is selected before it becomes a message with two levels.
  [[nodiscard]] const SparseMessage& selected() const { return selected_; }
  /// Whether blocks are too long for one thread or team: all select from one after the other.
  [[nodiscard]] bool selects_together() const {
    return message_.map().block_elements > SparseMessage::largest_select_block;
  }
  [[nodiscard]] ElementRange own_region() const { return message_.region(ranks_, rank_); }
  /// Of the messages that come from all ranks: the own region's, or everybody's whole one.
  [[nodiscard]] std::size_t received_bytes() const;
  /// Between the received messages of two ranks: whole words.
  [[nodiscard]] std::size_t stride_bytes() const;

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
  SparseMessage selected_;  ///< with two levels
};

/// Delivers the mean of an element's whole residual, where it is kept out of the selection:
/// x <- x - mean;  residual <- 0.
struct DeliverWhole {
  Vector<float> x;
  Vector<float> residual;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean) const {
    x(i) -= mean;
    residual(i) = 0.0F;
  }
};

/// Delivers the largest entries of every rank's residual (Locally Accumulated Adam).
///
///   own:   in every select block: send the k = max(1, floor(density len + 1/2)) largest |e|;  e <- 0 there
///          messages go to all;  x <- x - (1/n) sum sent                                       all-gather
///   owner: the same messages, but each region's to its owner                                  all-to-all
///          owner: the k largest of |(1/n) sum sent| in every block of the region go to all    all-gather
///          x <- x - what came;  e <- 0 where a rank sent an entry and it came back
///
/// With two levels (SparseValues) an entry is 14 bits instead of 32 and its index: the value is that of the
/// mean of the larger or of the smaller ones of its block (encode_two_levels()), e <- e - what was said
/// instead of e <- 0, so that what one bit cannot say stays. With exchange own alone: an owner would have to
/// say the mean with two levels again and nobody would hold what that loses.
///
/// Sums are in rank order; every rank applies the same bytes, so replicas stay bitwise equal. Law: x - mean
/// of e over ranks is the same before and after, to rounding. One rank: x <- x - e, e <- 0, nothing is sent.
///
/// Wire, for messages of M bytes (SparseMessage): own (n - 1) M per rank; owner 2 (n - 1)/n M where n divides
/// the number of blocks: below 2 M, however large n is. Worked number: d = 2^20, n = 4, blocks of 4096,
/// density 0.01: M = 58 368 bytes; each rank sends 175 104 bytes (own) or 87 552 (owner), in the dense mean 6
/// 291 456; own with two levels: M = 20 480, 61 440 bytes. Memory: own n M and the sums: 4 B times
/// select_block per CPU thread, 16 MiB on a GPU, never more than 4 d (a single block: 4 d), with two levels
/// the exact message besides; owner 3 M + 4 d/n. LargeTopK's where blocks have more than 65536 elements.
class SparseMean {
 public:
  SparseMean() = default;
  /// The communicator has to live on. Errors: as SparseMeanLayout.
  SparseMean(const ExecutionSpace& exec, const SparseOptions& options, std::int64_t elements,
             Communicator& communicator);

  /// Sends the largest entries of `residual`, takes from it what all then apply, and applies
  /// x <- x - mean of what all sent (owner: its largest). x: the parameters, or any vector of that length: of
  /// zeros it makes the mean with its sign turned. Collective.
  void deliver(const ExecutionSpace& exec, Phases& phases, const Vector<float>& residual,
               const Vector<float>& x);

  /// Of the coordinates that ranks sent in the last delivery, the part that more than one sent; nothing if
  /// there was no delivery, or nothing but zeros in it, or there is one rank. Equal on all ranks. Collective.
  /// Memory: the first call allocates 1 B per element of the vector (owner: of the region).
  [[nodiscard]] std::optional<double> overlap(const ExecutionSpace& exec);

  [[nodiscard]] const SparseMeanLayout& layout() const { return layout_; }

 private:
  void allocate_for_all(const ExecutionSpace& exec);
  void allocate_for_owners(const ExecutionSpace& exec);
  void deliver_to_all(const ExecutionSpace& exec, Phases& phases, const Vector<float>& residual,
                      const Vector<float>& x);
  void deliver_by_owners(const ExecutionSpace& exec, Phases& phases, const Vector<float>& residual,
                         const Vector<float>& x);
  /// Slices of whole blocks, of every region or of the whole vector. Their messages have at most piece_bytes,
  /// but one block at least.
  void cut_into_slices(std::size_t piece_bytes);
  /// The largest entries of some elements into their place in a message. values: of these elements.
  void select(const ExecutionSpace& exec, const ElementRange& range, const Vector<float>& values,
              Selected selected, const Words<MemorySpace>& message) const;
  /// What came from all ranks for some elements.
  [[nodiscard]] SparseMessages<MemorySpace> received_messages(const ElementRange& range) const;

  SparseMeanLayout layout_;
  Communicator* communicator_ = nullptr;
  bool delivered_ = false;
  LargeTopK<ExecutionSpace> large_top_k_;  ///< for blocks that are too long for one thread or team
  SlicedChunks slices_;                    ///< owner: of every region; own: of the whole vector, as chunk 0
  Words<MemorySpace> received_;   ///< own: the messages of all, the own one in place; owner: of the region
  Words<MemorySpace> sent_;       ///< owner: the own message
  Words<MemorySpace> kept_;       ///< owner: what is applied, laid out like a message
  Words<MemorySpace> selected_;   ///< two levels: the exact message
  Vector<float> sums_;            ///< own: see sparse_sum_elements(); owner: the mean of the region
  Vector<std::uint8_t> senders_;  ///< from the first overlap() on
};

}  // namespace kadam
