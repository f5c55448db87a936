// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/magnitude_cut.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// A short list of elements of a block that contains the k largest; one thread finds it in about one read.
///
/// The block is cut into tiles of 16 rows of 16 elements. Element `lane` of each row of a tile belongs to one
/// group of 16 elements, of which collect() keeps the largest magnitude. The k-th largest of these magnitudes
/// is the bound: k groups have an element that reaches it, so the k largest elements of the block reach it
/// too, and only groups that reach it are read again. Memory: 32 KiB of stack.
class Candidates {
 public:
  static constexpr int lanes = 16;
  static constexpr int rows = 16;
  static constexpr int tile = lanes * rows;
  static constexpr int largest_block = 65536;

  KOKKOS_FUNCTION explicit Candidates(const HostBlockMember& /*member*/) {}

  /// Lists all elements of the block that reach the bound for k; magnitude(i) is that of element i. Returns
  /// false, and the list is not valid, where it does not help: k is large, the block is longer than
  /// largest_block, or too many elements may reach the bound (many equal ones, or a low bound because a few
  /// groups hold all large ones).
  template <class Magnitude>
  KOKKOS_FUNCTION bool collect(const HostBlockMember& member, std::int64_t elements, std::int64_t k,
                               const Magnitude& magnitude) {
    count_ = 0;
    // With a larger k the bound is low, and nearly every group reaches it.
    if (4 * k > elements / rows || elements > largest_block) return false;
    const std::int64_t groups = find_groups(elements, magnitude);
    const auto group = [&](const std::int64_t g) { return group_[g]; };
    const std::int32_t bound = find_cut(member, groups, k, group).threshold;
    for (std::int64_t first = 0; first < elements; first += tile) {
      if (count_ + tile > capacity) return false;
      collect_tile(first, elements, bound, magnitude);
    }
    return true;
  }

  /// The number of elements in the list, after collect() returned true; likewise below.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t count() const { return count_; }
  /// The index in the block of entry c of the list. Indices ascend with c.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t index(std::int64_t c) const { return index_[c]; }
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t magnitude(std::int64_t c) const { return magnitude_[c]; }
  /// The bits that are known of the k-th largest magnitude: none.
  [[nodiscard]] KOKKOS_FUNCTION static KnownBits known() { return {}; }

 private:
  static constexpr int capacity = 2048;

  /// group_ <- the largest magnitude of every group, -1 for a group without elements. Returns the number of
  /// groups.
  template <class Magnitude>
  KOKKOS_FUNCTION std::int64_t find_groups(std::int64_t elements, const Magnitude& magnitude) {
    std::int64_t groups = 0;
    for (std::int64_t first = 0; first < elements; first += tile, groups += lanes) {
      std::int32_t largest[lanes];
      for (std::int32_t& value : largest) value = -1;
      const std::int64_t full_rows = Kokkos::min<std::int64_t>(rows, (elements - first) / lanes);
      for (std::int64_t row = 0; row < full_rows; ++row) {
        for (int lane = 0; lane < lanes; ++lane) {
          const std::int32_t value = magnitude(first + row * lanes + lane);
          largest[lane] = value > largest[lane] ? value : largest[lane];
        }
      }
      if (full_rows < rows) {
        for (std::int64_t i = first + full_rows * lanes; i < elements; ++i) {
          std::int32_t& last = largest[(i - first) % lanes];
          last = Kokkos::max(last, magnitude(i));
        }
      }
      for (int lane = 0; lane < lanes; ++lane) group_[groups + lane] = largest[lane];
    }
    return groups;
  }

  /// Adds the elements of the tile from `first` on whose group and magnitude reach the bound. Goes row by
  /// row, so that indices ascend, and has no branch for an element.
  template <class Magnitude>
  KOKKOS_FUNCTION void collect_tile(std::int64_t first, std::int64_t elements, std::int32_t bound,
                                    const Magnitude& magnitude) {
    std::int32_t hit[lanes];
    int hits = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      hit[hits] = lane;
      hits += group_[first / rows + lane] >= bound ? 1 : 0;
    }
    if (hits == 0) return;
    const std::int64_t full_rows = Kokkos::min<std::int64_t>(rows, (elements - first) / lanes);
    for (std::int64_t row = first; row < first + full_rows * lanes; row += lanes) {
      for (int h = 0; h < hits; ++h) add(row + hit[h], bound, magnitude);
    }
    if (full_rows == rows) return;
    for (std::int64_t i = first + full_rows * lanes; i < elements; ++i) add(i, bound, magnitude);
  }

  /// Adds element i if it reaches the bound. Always writes it, but counts it only then: no branch.
  template <class Magnitude>
  KOKKOS_FORCEINLINE_FUNCTION void add(std::int64_t i, std::int32_t bound, const Magnitude& magnitude) {
    const std::int32_t value = magnitude(i);
    index_[count_] = static_cast<std::int32_t>(i);
    magnitude_[count_] = value;
    count_ += value >= bound ? 1 : 0;
  }

  std::int64_t count_ = 0;
  std::int32_t group_[largest_block / rows];
  std::int32_t index_[capacity];
  std::int32_t magnitude_[capacity];
};

/// A short list as in Candidates, but found by a team, in its scratch memory and two reads of the block.
///
/// The first read counts the elements of each bin: the elements whose magnitudes have the same highest 11
/// bits. The bound is the lowest magnitude of the bin of the k-th largest. The second read lists the elements
/// that reach the bound.
class TeamCandidates {
 public:
  static constexpr int capacity = 2048;
  static constexpr int words = 2 * capacity;

  /// memory: `words` words of the team's scratch memory.
  KOKKOS_FUNCTION explicit TeamCandidates(std::int32_t* memory) : words_(memory) {}

  /// Lists all elements of the block that reach the bound for k. Returns false, and the list is not valid, if
  /// more than `capacity` elements do.
  template <class Member, class Magnitude>
  KOKKOS_FUNCTION bool collect(const Member& member, std::int64_t elements, std::int64_t k,
                               const Magnitude& magnitude) {
    find_bin(member, elements, k, magnitude);
    const std::int32_t bound = words_[bins] << shift;
    count_ = words_[bins + 1];
    known_ = {bound, shift, words_[bins + 2]};
    member.barrier();  // the list takes the place of the counts
    if (count_ > capacity) return false;
    (void)member.for_each_flagged(
        elements, [&](const std::int64_t i) { return magnitude(i) >= bound; },
        [&](const std::int64_t i, const std::int64_t before) {
          words_[before] = static_cast<std::int32_t>(i);
          words_[capacity + before] = magnitude(i);
        });
    return true;
  }

  /// The number of elements in the list, after collect() returned true; likewise below.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t count() const { return count_; }
  /// The index in the block of entry c of the list. Indices ascend with c.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t index(std::int64_t c) const { return words_[c]; }
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t magnitude(std::int64_t c) const { return words_[capacity + c]; }
  /// The bits that are known of the k-th largest magnitude: those of its bin.
  [[nodiscard]] KOKKOS_FUNCTION KnownBits known() const { return known_; }

 private:
  static constexpr int bins = 2048;  ///< one for each exponent with 3 bits of mantissa
  static constexpr int shift = 31 - 11;
  static_assert(bins + 3 <= words);

  /// words_[0, bins) <- the number of elements in each bin; the three words behind them <- the bin of the
  /// k-th largest, the number of elements in it or above it, and the number of elements above it.
  template <class Member, class Magnitude>
  KOKKOS_FUNCTION void find_bin(const Member& member, std::int64_t elements, std::int64_t k,
                                const Magnitude& magnitude) {
    std::int32_t* const counts = words_;
    member.for_each(bins, [&](const std::int64_t bin) { counts[bin] = 0; });
    member.for_each(elements,
                    [&](const std::int64_t i) { increment_in_scratch(counts[magnitude(i) >> shift]); });
    // Each thread adds up neighbouring bins, from the largest one down.
    const std::int64_t width = (bins + member.threads() - 1) / member.threads();
    const std::int64_t first = member.rank() * width;
    const auto count_at = [&](const std::int64_t r) {
      return r < width && first + r < bins ? std::int64_t{counts[bins - 1 - (first + r)]} : 0;
    };
    std::int64_t own = 0;
    // Neighbouring threads begin at different places of their bins: otherwise all would read the same bank of
    // the scratch memory at the same time.
    for (std::int64_t n = 0; n < width; ++n) own += count_at((n + member.rank()) % width);
    std::int64_t above = member.sum_before(own);
    if (above < k && above + own >= k) {
      std::int64_t r = 0;
      for (; above + count_at(r) < k; ++r) above += count_at(r);
      counts[bins] = static_cast<std::int32_t>(bins - 1 - (first + r));
      counts[bins + 1] = static_cast<std::int32_t>(above + count_at(r));
      counts[bins + 2] = static_cast<std::int32_t>(above);
    }
    member.barrier();
  }

  std::int32_t* words_;
  std::int64_t count_ = 0;
  KnownBits known_;
};

}  // namespace kadam::detail
