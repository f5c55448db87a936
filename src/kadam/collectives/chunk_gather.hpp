// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/cost/cost.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace kadam {

/// Sends the chunks of a vector of numbers from their owners to all ranks; in two levels between nodes first,
/// then inside them.
///
/// Wire: (n - 1) times the own chunk; in two levels with N nodes (N - 1) times between nodes, and the own
/// shard to the rest of the node. Worked number: d = 256 float32, n = 4: 768 bytes; in two levels, N = 2: 256
/// between nodes, 512 inside.
class ChunkGather {
 public:
  ChunkGather() = default;
  ChunkGather(const Arrangement& ranks, std::int64_t elements, std::size_t bytes_per_number);

  /// Fills buffer with the chunks of the other ranks; the own chunk lies there already. traffic: the class of
  /// the bytes; in two levels, bytes inside a node are Traffic::node. Collective. Shape: buffer holds the
  /// whole vector.
  void operator()(const ExecutionSpace& exec, Communicator& communicator, Traffic traffic,
                  std::span<std::byte> buffer) const;

  /// The bytes and messages of one call with Traffic::dense. No memory: a ChunkGather holds no buffer.
  [[nodiscard]] Cost cost() const;

 private:
  [[nodiscard]] static std::size_t sent(const std::vector<Piece>& pieces, int own) {
    return pieces.empty() ? 0 : (pieces.size() - 1) * pieces[static_cast<std::size_t>(own)].bytes;
  }

  std::vector<Piece> chunks_;  ///< of the ranks of Communicator::across(), one for each
  int own_chunk_ = 0;
  std::vector<Piece> shards_;  ///< with two levels: of the ranks of the node, which fill them from across()
  int own_shard_ = 0;
};

}  // namespace kadam
