// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/chunk_layout.hpp>

#include <cstdint>

namespace kadam {

/// How ranks exchange a vector, and which of them this is: all with all, or, in two levels, those of a node
/// densely first, then those that have the same place in their nodes.
///
/// With two levels chunks and scale blocks lie where they lie with one; only other ranks own them: place l of
/// a node gets shard l, the chunks of all ranks with place l.
struct Arrangement {
  int ranks = 1;   ///< n
  int rank = 0;    ///< this one
  int places = 1;  ///< g, the ranks of a node; 1 with one level
  int place = 0;   ///< of this rank in its node; 0 with one level
  int owner = 0;   ///< this rank among those with its place, who own the chunks of its shard

  /// One level of n ranks, seen from one of them.
  [[nodiscard]] static Arrangement flat(int ranks, int rank = 0) { return {ranks, rank, 1, 0, rank}; }
  /// `nodes` of g ranks, seen from the first.
  [[nodiscard]] static Arrangement of_nodes(int nodes, int places) {
    return {nodes * places, 0, places, 0, 0};
  }

  /// N: the ranks that exchange a shard; with one level all.
  [[nodiscard]] int owners() const { return ranks / places; }
  [[nodiscard]] bool has_two_levels() const { return places > 1; }
  /// Which of the chunks of a vector this rank owns. Worked number: rank 1 of 4, two nodes of ranks 0, 1 and
  /// 2, 3, owns chunk 2.
  [[nodiscard]] int own_chunk() const { return place * owners() + owner; }

  /// One shard for each place; with one level the whole vector.
  [[nodiscard]] ChunkLayout shards(std::int64_t elements) const {
    return ChunkLayout(elements, ranks).joined(owners());
  }
  /// The chunks of this rank's shard, one for each of its owners, the first element of the shard being
  /// element 0.
  [[nodiscard]] ChunkLayout chunks_of_shard(std::int64_t elements) const {
    return ChunkLayout(elements, ranks).part(place * owners(), owners());
  }
};

}  // namespace kadam
