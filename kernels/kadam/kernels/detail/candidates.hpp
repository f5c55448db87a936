// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/magnitude_cut.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// A short list that holds the k largest elements of a block, found by one thread in about one read.
///
/// The block is cut in groups, one per vector lane of a tile of 16 rows and 16 lanes, and each group's
/// largest magnitude is kept. k groups hold an element at or above the k-th largest of these, so the k
/// largest elements of the block do as well: only groups that reach it are looked at again. Memory: 32 KiB of
/// stack.
class Candidates {
 public:
  static constexpr int lanes = 16;
  static constexpr int rows = 16;
  static constexpr int tile = lanes * rows;
  static constexpr int largest_block = 65536;

  KOKKOS_FUNCTION explicit Candidates(const HostBlockMember& /*member*/) {}

  /// False if the list is too short to help (many elements to select, many equal ones, or all large ones in a
  /// few groups): then it holds nothing.
  template <class Magnitude>
  KOKKOS_FUNCTION bool collect(const HostBlockMember& member, std::int64_t elements, std::int64_t k,
                               const Magnitude& magnitude) {
    count_ = 0;
    // With more, the bound is loose and nearly every group reaches it.
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

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t count() const { return count_; }
  /// In ascending order.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t index(std::int64_t c) const { return index_[c]; }
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t magnitude(std::int64_t c) const { return magnitude_[c]; }
  /// Of the k-th largest.
  [[nodiscard]] KOKKOS_FUNCTION static KnownBits known() { return {}; }

 private:
  static constexpr int capacity = 2048;

  /// The largest magnitude of every group, -1 for a group without elements.
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

  /// Row by row through the lanes that reach the bound: in ascending order. Without branches on the data.
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

/// The same by a team, in memory of the team and two reads of the block.
///
/// The first read counts how often the highest bits of a magnitude occur; the k largest are at or above the
/// lowest magnitude with the bits that the k-th largest has. The second lists those, in ascending order.
class TeamCandidates {
 public:
  static constexpr int capacity = 2048;
  static constexpr int words = 2 * capacity;

  /// In `words` of memory that the team shares.
  KOKKOS_FUNCTION explicit TeamCandidates(std::int32_t* memory) : words_(memory) {}

  /// False if too many elements reach the bound for the list.
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

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t count() const { return count_; }
  /// In ascending order.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t index(std::int64_t c) const { return words_[c]; }
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t magnitude(std::int64_t c) const { return words_[capacity + c]; }
  /// Of the k-th largest.
  [[nodiscard]] KOKKOS_FUNCTION KnownBits known() const { return known_; }

 private:
  static constexpr int bins = 2048;  ///< the exponent and 3 bits of the mantissa
  static constexpr int shift = 31 - 11;
  static_assert(bins + 3 <= words);

  /// words_[0, bins): how often each bin occurs. Then the bin of the k-th largest, how many reach it, and how
  /// many are above it.
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
    // Neighbours begin at different places of theirs: else all would ask the same bank of the memory.
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
