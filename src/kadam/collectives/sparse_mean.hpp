// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/kernels/top_k.hpp>
#include <kadam/wire/sparse_message.hpp>

#include <cstdint>
#include <vector>

namespace kadam {

struct SparseOptions {
  double density = 0.01;
  std::int64_t select_block = 4096;  ///< 0: one block; at most 65536
};

/// Delivers the largest entries of every rank's residual (Locally Accumulated Adam).
///
///   in every select block: send the k = max(1, floor(density len + 1/2)) largest |e|;  e <- 0 there
///   messages go to all;  x <- x - (1/n) sum sent                                             all-gather
///
/// Sums are in rank order; every rank applies the same bytes, so replicas stay bitwise equal. Law: x - mean
/// of e over ranks is the same before and after, to rounding. One rank: x <- x - e, e <- 0, nothing is sent.
///
/// Wire, for messages of M bytes (SparseMessage): (n - 1) M per rank. Worked number: d = 2^20, n = 4, blocks
/// of 4096, density 0.01: M = 58 368 bytes; each rank sends 175 104 bytes, in the dense mean 6 291 456.
/// Memory: n M and at most 16 MiB (4 d for a single block).
class SparseMean {
 public:
  SparseMean() = default;
  /// Errors: std::invalid_argument for a density outside (0, 1] or a select_block outside [0, 65536].
  SparseMean(const ExecutionSpace& exec, const SparseOptions& options, std::int64_t elements, int ranks,
             int rank);

  /// Sends the largest entries of `residual` (zero there afterwards) and applies x <- x - mean of what all
  /// sent. Collective.
  void deliver(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
               const Vector<float>& residual, const Vector<float>& x);

  /// What this rank sends in one delivery.
  [[nodiscard]] std::size_t bytes_sent() const;
  [[nodiscard]] std::size_t workspace_bytes() const;

 private:
  void deliver_to_all(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                      const Vector<float>& residual, const Vector<float>& x);

  int ranks_ = 1;
  int rank_ = 0;
  SparseMessage message_;
  std::vector<Piece> received_pieces_;  ///< of all ranks
  Words<MemorySpace> received_;         ///< the messages of all ranks, the own one in place
  Vector<float> sums_;
};

}  // namespace kadam
