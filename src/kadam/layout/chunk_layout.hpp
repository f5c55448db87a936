// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

namespace kadam {

/// Elements [begin, end) of the flat vector.
struct ElementRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t elements() const { return end - begin; }
  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

/// Which rank owns which elements: rank j owns chunk j = [min(jc, d), min((j+1)c, d)), c = 64
/// ceil(ceil(d/n)/64).
///
/// All chunks but the last non-empty one have c elements, so chunk j starts at a multiple of 64.
/// Worked number: d = 301, n = 4 gives c = 128 and chunks of 128, 128, 45 and 0 elements.
class ChunkLayout {
 public:
  static constexpr std::int64_t alignment_elements = 64;

  ChunkLayout() = default;
  /// Errors: std::invalid_argument unless elements >= 0 and ranks >= 1.
  ChunkLayout(std::int64_t elements, int ranks);

  [[nodiscard]] std::int64_t elements() const { return elements_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  /// c, the length of every chunk but the last ones.
  [[nodiscard]] std::int64_t chunk_elements() const { return chunk_elements_; }
  [[nodiscard]] ElementRange chunk(int rank) const {
    return {std::min(rank * chunk_elements_, elements_), std::min((rank + 1) * chunk_elements_, elements_)};
  }

  /// Chunks [first, first + count) alone, the first element of the first one being element 0.
  [[nodiscard]] ChunkLayout part(int first, int count) const {
    return {chunk(first + count - 1).end - chunk(first).begin, count, chunk_elements_};
  }
  /// The same elements for ranks()/count owners, each of `count` consecutive chunks.
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

}  // namespace kadam
