// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kadam {

/// ceil(a / b) for a >= 0: the number of parts of length b, the last perhaps shorter, in a; 0 if b = 0.
constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : (a + b - 1) / b;
}

/// Elements [begin, end) of the flat vector.
struct ElementRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t elements() const { return end - begin; }
  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

/// A set of elements of the flat vector, kept as ranges: ranges that overlap or touch are joined.
///
/// Worked number: [0, 4), [8, 9) and [2, 6) make [0, 6) and [8, 9); with [6, 8) they make [0, 9).
class ElementSet {
 public:
  /// Adds a range, some of whose elements may be in the set already. Returns the range of the set that now
  /// contains it; an empty range is returned as it is.
  ElementRange add(ElementRange range);

  [[nodiscard]] const std::vector<ElementRange>& ranges() const { return ranges_; }

 private:
  std::vector<ElementRange> ranges_;  ///< none empty, ascending, with elements between any two
};

/// Which of n ranks owns which of d elements: rank j owns chunk j = [min(jc, d), min((j+1)c, d)), c = 64
/// ceil(ceil(d/n)/64).
///
/// All chunks before the last non-empty one have c elements, so every non-empty chunk starts at a multiple
/// of 64. Worked number: d = 301, n = 4 gives c = 128 and chunks of 128, 128, 45 and 0 elements.
class ChunkLayout {
 public:
  /// Whole 32-bit words of every code and of every mask, and whole cache lines of float32.
  static constexpr std::int64_t alignment_elements = 64;

  ChunkLayout() = default;
  /// Errors: std::invalid_argument unless elements >= 0 and ranks >= 1.
  ChunkLayout(std::int64_t elements, int ranks);

  [[nodiscard]] std::int64_t elements() const { return elements_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  /// c, the length of every chunk but the last ones.
  [[nodiscard]] std::int64_t chunk_elements() const { return chunk_elements_; }
  /// The chunk that `rank` owns; empty if the chunks before take all elements.
  [[nodiscard]] ElementRange chunk(int rank) const {
    return {std::min(rank * chunk_elements_, elements_), std::min((rank + 1) * chunk_elements_, elements_)};
  }

  /// The layout of chunks [first, first + count) alone, whose first element is element 0. count: 1 or more.
  [[nodiscard]] ChunkLayout part(int first, int count) const {
    return {chunk(first + count - 1).end - chunk(first).begin, count, chunk_elements_};
  }
  /// The layout of the same elements for ranks()/count owners: `count` consecutive chunks make one. count
  /// divides ranks().
  [[nodiscard]] ChunkLayout joined(int count) const {
    return {elements_, ranks_ / count, count * chunk_elements_};
  }

 private:
  ChunkLayout(std::int64_t elements, int ranks, std::int64_t chunk_elements)
      : elements_(elements), ranks_(ranks), chunk_elements_(chunk_elements) {}

  std::int64_t elements_ = 0;
  int ranks_ = 1;
  std::int64_t chunk_elements_ = 0;
};

/// How ranks exchange a vector, seen from one of them. With one level all ranks exchange with all; in two
/// levels the ranks of a node first exchange densely, then those that have the same place in their nodes.
///
/// Chunks and scale blocks lie in the same places with one level and with two, but belong to other ranks:
/// place l of each node gets shard l, which consists of the chunks of all ranks with place l.
struct Arrangement {
  int ranks = 1;                 ///< n
  int rank = 0;                  ///< this rank
  int places = 1;                ///< g, the ranks of a node; 1 with one level
  int place = 0;                 ///< l, of this rank in its node; 0 with one level
  int owner = 0;                 ///< number of this rank among those with its place: its chunk of the shard
  bool node_by_library = false;  ///< a library of the devices' vendor exchanges dense vectors inside a node

  /// One level of `ranks` ranks, seen from `rank`.
  [[nodiscard]] static Arrangement flat(int ranks, int rank = 0) { return {ranks, rank, 1, 0, rank, false}; }
  /// `nodes` nodes with `places` ranks each, seen from rank 0.
  [[nodiscard]] static Arrangement of_nodes(int nodes, int places) {
    return {nodes * places, 0, places, 0, 0, false};
  }

  /// N, the number of ranks that exchange a shard; with one level n.
  [[nodiscard]] int owners() const { return ranks / places; }
  [[nodiscard]] bool has_two_levels() const { return places > 1; }
  /// The number of the chunk of a vector that this rank owns. Worked number: rank 1 of 4, two nodes of ranks
  /// 0, 1 and 2, 3, owns chunk 2.
  [[nodiscard]] int own_chunk() const { return place * owners() + owner; }

  /// The shards of a vector: chunk l is that of place l. With one level there is one, the whole vector.
  [[nodiscard]] ChunkLayout shards(std::int64_t elements) const {
    return ChunkLayout(elements, ranks).joined(owners());
  }
  /// The chunks of this rank's shard, one for each of its owners(), seen from the start of the shard.
  [[nodiscard]] ChunkLayout chunks_of_shard(std::int64_t elements) const {
    return ChunkLayout(elements, ranks).part(place * owners(), owners());
  }
};

}  // namespace kadam
