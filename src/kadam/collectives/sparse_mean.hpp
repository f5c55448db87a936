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

/// Which rank sums the selected entries. own: every rank sums all of them; owner: the owner of a region sums
/// those of its region.
enum class SparseExchange : std::uint8_t { own, owner };

struct SparseOptions {
  double density = 0.01;             ///< the part of each select block that a rank sends: above 0, at most 1
  std::int64_t select_block = 4096;  ///< at most 65536; 0: one block, with owners one for each region
  SparseExchange exchange = SparseExchange::own;
  SparseValues values = SparseValues::exact;  ///< two_levels: only with own, and select_block 1 to 4096
};

/// The layout of a SparseMean: its messages, memory and cost, without its buffers. It has one level, because
/// a sparse message is short. "Two levels" below are those of values (SparseValues).
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
  /// With two levels: the exact message from which message() is made; else empty.
  [[nodiscard]] const SparseMessage& selected() const { return selected_; }
  /// Whether blocks are too long for one thread or team: then all threads select together, block after block.
  [[nodiscard]] bool selects_together() const {
    return message_.map().block_elements > SparseMessage::largest_select_block;
  }
  [[nodiscard]] ElementRange own_region() const { return message_.region(ranks_, rank_); }
  /// The bytes of a message that this rank receives: with owners that of its region, else the whole one.
  [[nodiscard]] std::size_t received_bytes() const;
  /// The bytes from the received message of one rank to that of the next: received_bytes() in whole words.
  [[nodiscard]] std::size_t stride_bytes() const;

  /// The most select blocks of a slice: one slice travels while this rank selects from the next. On a CPU
  /// 2^19 elements, or one block if that is longer; more where a rank would send over 512 messages to all.
  /// Worked number: d = 2^22, blocks of 4096, own: 128 blocks for 2 to 65 ranks, 512 for 256, all for 1024.
  [[nodiscard]] std::int64_t slice_blocks() const;

  /// The cost of one delivery on a CPU with this number of threads, or on a GPU if it is 0.
  [[nodiscard]] Cost cost(std::int64_t threads) const;

 private:
  [[nodiscard]] Kernel selection() const;
  [[nodiscard]] std::int64_t slices_of(const SparseMap& part) const;
  void add_sum_by_all(std::int64_t threads, Cost& cost) const;
  void add_sum_by_owners(Cost& cost) const;

  SparseOptions options_;
  int ranks_ = 1;
  int rank_ = 0;
  SparseMessage message_;
  SparseMessage selected_;  ///< see selected()
};

/// Delivers the whole residual of an element that is kept out of the selection, from its exact mean over
/// ranks: x <- x - mean;  residual <- 0. For DenseSubset::decode().
struct DeliverWhole {
  Vector<float> x;
  Vector<float> residual;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean) const {
    x(i) -= mean;
    residual(i) = 0.0F;
  }
};

/// Delivers the largest entries of every rank's residual e to x (Locally Accumulated Adam).
///
///   own:   in every select block: send the k = max(1, floor(density len + 1/2)) largest |e|;  e <- 0 there
///          messages go to all;  x <- x - (1/n) sum sent                                       all-gather
///   owner: the same messages, but the part of each region goes to its owner                   all-to-all
///          owner: the k largest of |(1/n) sum sent| in every block of the region go to all    all-gather
///          x <- x - these;  e <- 0 where this rank sent an entry and the owner sent it back
///
/// With two levels (SparseValues) an entry is 14 bits instead of 32 and its index. Its value is one of two
/// magnitudes of its block, with a sign: the mean of the larger or of the smaller entries
/// (encode_two_levels()). Then e <- e - sent value instead of e <- 0, so that the rounding stays in e. Only
/// with exchange own: an owner would have to round the mean to two levels again, and no rank would keep that
/// rounding.
///
/// Sums are in rank order; every rank applies the same bytes, so replicas stay bitwise equal. Law: x - mean
/// of e over ranks is the same before and after, to rounding. One rank: x <- x - e, e <- 0, nothing is sent.
///
/// Wire, for messages of M bytes (SparseMessage): own (n - 1) M per rank; owner 2 (n - 1)/n M where n divides
/// the number of blocks: below 2 M, however large n is. Worked number: d = 2^20, n = 4, blocks of 4096,
/// density 0.01: M = 58368 bytes; each rank sends 175104 bytes (own) or 87552 (owner), in the dense mean
/// 6291456; own with two levels: M = 20480, 61440 bytes. Memory: own n M and the sums: 4 B times select_block
/// per CPU thread; on a GPU none for a select_block of 1 to 4096, 16 MiB for a longer one; never more than 4
/// d (a single block: 4 d); with two levels the exact message besides; owner 3 M + 4 d/n. Blocks of more than
/// 65536 elements need the memory of LargeTopK as well.
class SparseMean {
 public:
  SparseMean() = default;
  /// The communicator has to outlive this object. Errors: as for SparseMeanLayout.
  SparseMean(const ExecutionSpace& exec, const SparseOptions& options, std::int64_t elements,
             Communicator& communicator);

  /// Sends the largest entries of `residual`, subtracts from x the mean of the entries of all ranks (with
  /// owners, the largest of that mean), and removes the delivered part from `residual`. x: the parameters, or
  /// any vector; zeros become the mean with its sign turned. Collective. Shape: both [d].
  void deliver(const ExecutionSpace& exec, Phases& phases, const Vector<float>& residual,
               const Vector<float>& x);

  /// The share of the coordinates sent in the last delivery that more than one rank sent; std::nullopt before
  /// a delivery, if it had only zeros, or with one rank. Equal on all ranks. Collective. Memory: the first
  /// call allocates 1 B per element of the vector (with owners: of the region).
  [[nodiscard]] std::optional<double> overlap(const ExecutionSpace& exec);

  [[nodiscard]] const SparseMeanLayout& layout() const { return layout_; }

 private:
  void allocate_for_all(const ExecutionSpace& exec);
  void allocate_for_owners(const ExecutionSpace& exec);
  void deliver_to_all(const ExecutionSpace& exec, Phases& phases, const Vector<float>& residual,
                      const Vector<float>& x);
  void deliver_by_owners(const ExecutionSpace& exec, Phases& phases, const Vector<float>& residual,
                         const Vector<float>& x);
  /// Cuts the regions, or the whole vector, into slices of whole blocks, whose messages have at most
  /// piece_bytes, but of one block at least.
  void cut_into_slices(std::size_t piece_bytes);
  /// Writes the largest entries of elements `range` to their place in `message`. values: of `range` alone.
  void select(const ExecutionSpace& exec, const ElementRange& range, const Vector<float>& values,
              Selected selected, const Words<MemorySpace>& message) const;
  /// The received entries of elements `range`, from all ranks.
  [[nodiscard]] SparseMessages<MemorySpace> received_messages(const ElementRange& range) const;

  SparseMeanLayout layout_;
  Communicator* communicator_ = nullptr;
  bool delivered_ = false;
  LargeTopK<ExecutionSpace> large_top_k_;  ///< for blocks that are too long for one thread or team
  SlicedChunks slices_;                    ///< owner: of every region; own: of the whole vector, as chunk 0
  Words<MemorySpace> received_;   ///< messages of all ranks, the own one among them; owner: of the own region
  Words<MemorySpace> sent_;       ///< owner: the own message
  Words<MemorySpace> kept_;       ///< owner: the entries that all ranks apply, laid out as a message
  Words<MemorySpace> selected_;   ///< two levels: the exact message
  Vector<float> sums_;            ///< own: see sparse_sum_elements(); owner: the mean of the region
  Vector<std::uint8_t> senders_;  ///< for overlap(), whose first call allocates it
};

}  // namespace kadam
