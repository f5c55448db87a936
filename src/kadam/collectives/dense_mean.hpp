// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <vector>

namespace kadam {

/// The mean of a float32 vector over ranks, summed in rank order and times 1/n: bitwise equal on all ranks,
/// whatever arrives first. All-to-all of chunks, sum by their owner, all-gather.
///
/// Wire: 2 (n - 1)/n 4d bytes per rank when chunks are equal. Memory: 4d for the parts, 4d for the result.
/// Worked number: d = 256, n = 4: 1536 bytes sent by each rank.
class DenseMean {
 public:
  DenseMean() = default;
  DenseMean(const ExecutionSpace& exec, const ChunkLayout& chunks, int rank);

  /// Collective. The result is valid until the next call; with one rank it is `values` itself.
  [[nodiscard]] Vector<const float> operator()(const ExecutionSpace& exec, Communicator& communicator,
                                               Phases& phases, const Vector<const float>& values,
                                               Traffic traffic = Traffic::dense);

  /// What a rank sends in one call.
  [[nodiscard]] static std::size_t bytes_sent(const ChunkLayout& chunks, int rank);
  [[nodiscard]] std::size_t bytes_sent() const { return bytes_sent(chunks_, rank_); }
  [[nodiscard]] std::size_t memory_bytes() const { return (parts_.size() + mean_.size()) * sizeof(float); }

 private:
  ChunkLayout chunks_;
  int rank_ = 0;
  ElementRange own_;
  std::vector<Piece> chunk_pieces_;  ///< of the whole vector
  std::vector<Piece> part_pieces_;   ///< the own chunk, as it comes from every rank
  Vector<float> parts_;
  Vector<float> mean_;
};

}  // namespace kadam
