// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/magnitude_cut.hpp>
#include <kadam/kernels/detail/magnitude_digit.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// Elements of a group, of which one number, the largest magnitude, is kept. They fill two cache lines, and a
/// 32-bit mask has a bit for each.
inline constexpr std::int64_t top_k_group = 32;

/// The number of groups in `elements` elements; the last group may be shorter.
[[nodiscard]] inline std::int64_t top_k_groups(std::int64_t elements) {
  return (elements + top_k_group - 1) / top_k_group;
}

/// An element that may be among the k largest.
struct Candidate {
  std::uint32_t index;
  float value;
};

/// Counts of each value (bin) of a digit in each part of a vector: histograms(part, bin).
template <class MemorySpace>
using Histograms = Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, MemorySpace>;

/// A long block in parts of whole groups, one part per thread of a CPU, with a list in each part of the
/// elements that may be among the k largest.
///
/// The bound is the lowest magnitude with the first two digits of the k-th largest of the groups' largest
/// magnitudes. At least k groups reach it, so the k largest elements do as well. Elements that reach it are
/// listed, because reading their cache lines (a third of all) again for each digit would cost more than
/// reading the whole block. A list has room for a 32nd of its part; a part in which more elements reach the
/// bound (many equal ones) has no list.
template <class MemorySpace>
struct GroupedBlock {
  Kokkos::View<const float*, MemorySpace> values;
  Kokkos::View<std::int32_t*, MemorySpace> largest;  ///< magnitude of each group; empty: there is no bound
  /// found(0) and found(1): after digits 0 and 1 of the k-th largest of the groups' largest magnitudes;
  /// found(2) to found(4): after digits 0 to 2 of the k-th largest magnitude of all elements.
  Kokkos::View<const FoundDigits*, MemorySpace> found;
  std::int64_t part_elements;
  Kokkos::View<std::int64_t*, MemorySpace> listed;  ///< length of each part's list, -1: no list; may be empty
  Kokkos::View<Candidate*, MemorySpace> list;  ///< all lists: a part's begins at the index of its first group

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t elements() const {
    return static_cast<std::int64_t>(values.extent(0));
  }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t begin(std::int64_t part) const {
    return Kokkos::min(part * part_elements, elements());
  }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t end(std::int64_t part) const { return begin(part + 1); }
  /// The first group that begins at element i or later.
  [[nodiscard]] static KOKKOS_FUNCTION std::int64_t group_from(std::int64_t i) {
    constexpr std::int64_t size = top_k_group;
    return (i + size - 1) / size;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int32_t magnitude(std::int64_t i) const {
    return magnitude_of(values(i));
  }
  /// The bound: no element with a smaller magnitude is among the k largest. 0 if there is none.
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t bound() const {
    return largest.extent(0) == 0 ? 0 : found(1).prefix << MagnitudeDigit<1>::shift;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool reaches(std::int64_t group, std::int32_t bound) const {
    return bound == 0 || largest(group) >= bound;
  }

  /// visit(i, value of element i) for the elements of a part that may be among the k largest, in ascending
  /// order, by one thread: those of the part's list or, without a list, those of all groups that reach the
  /// bound.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_candidate(std::int64_t part, const Visit& visit) const {
    constexpr std::int64_t size = top_k_group;
    const std::int64_t first = group_from(begin(part));
    if (listed.extent(0) > 0 && listed(part) >= 0) {
      for (std::int64_t c = first; c < first + listed(part); ++c) {
        visit(std::int64_t{list(c).index}, list(c).value);
      }
      return;
    }
    const std::int32_t least = bound();
    for (std::int64_t group = first; group * size < end(part); ++group) {
      if (!reaches(group, least)) continue;
      const std::int64_t last = Kokkos::min((group + 1) * size, end(part));
      for (std::int64_t i = group * size; i < last; ++i) visit(i, values(i));
    }
  }
};

/// Writes the largest magnitude of every group into block.largest, and counts the first digits of these
/// magnitudes in each part. Shape: histograms are 0 before.
template <class MemorySpace>
struct TallyGroups {
  GroupedBlock<MemorySpace> block;
  Histograms<MemorySpace> histograms;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    const std::int64_t first = block.group_from(block.begin(part));
    const std::int64_t last = block.group_from(block.end(part));
    member.tally(last - first, Kokkos::subview(histograms, part, Kokkos::ALL), [&](const std::int64_t g) {
      const std::int64_t group = first + g;
      const std::int32_t largest = largest_of(group);
      block.largest(group) = largest;
      return MagnitudeDigit<0>::bin(largest, 0);
    });
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int32_t largest_of(std::int64_t group) const {
    constexpr std::int64_t size = top_k_group;
    const std::int64_t first = group * size;
    std::int32_t largest = 0;
    if (first + size <= block.elements()) {  // a fixed length, for vectors
      for (std::int64_t k = 0; k < size; ++k) {
        const std::int32_t magnitude = block.magnitude(first + k);
        largest = magnitude > largest ? magnitude : largest;
      }
    } else {
      for (std::int64_t i = first; i < block.elements(); ++i) {
        const std::int32_t magnitude = block.magnitude(i);
        largest = magnitude > largest ? magnitude : largest;
      }
    }
    return largest;
  }
};

/// Counts the second digits of the groups' largest magnitudes whose first digit is found(0). Shape:
/// histograms are 0 before.
template <class MemorySpace>
struct TallyGroupsAgain {
  GroupedBlock<MemorySpace> block;
  Histograms<MemorySpace> histograms;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    const std::int64_t first = block.group_from(block.begin(part));
    const std::int64_t last = block.group_from(block.end(part));
    const std::int32_t prefix = block.found(0).prefix;
    member.tally(last - first, Kokkos::subview(histograms, part, Kokkos::ALL), [&](const std::int64_t g) {
      return MagnitudeDigit<1>::bin(block.largest(first + g), prefix);
    });
  }
};

/// Lists the elements of each part that reach the bound. Makes a mask of them for each group that reaches the
/// bound: to look at elements one by one would cost a branch for each.
template <class MemorySpace>
struct ListCandidates {
  GroupedBlock<MemorySpace> block;

  KOKKOS_FUNCTION void operator()(const std::int64_t part) const { block.listed(part) = collect(part); }

 private:
  /// At a density of 1 % about 20 of so many groups reach the bound: their 40 cache lines are on the way
  /// while earlier hits are listed.
  static constexpr std::int64_t at_a_time = 64;
  static constexpr std::int64_t size = top_k_group;

  /// Fills the list of a part; returns its length, or -1 if the list may lack room. Looks for hits, the
  /// groups that reach the bound, among at_a_time groups ahead of those that it lists.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t collect(std::int64_t part) const {
    const std::int64_t first = block.group_from(block.begin(part));
    const std::int64_t last = block.group_from(block.end(part));
    const std::int32_t bound = block.bound();
    Candidate* const list = block.list.data() + first;
    std::int64_t count = 0;
    std::int64_t ahead[at_a_time];
    std::int64_t hits = find_hits(first, last, bound, ahead);
    for (std::int64_t begin = first; begin < last; begin += at_a_time) {
      std::int64_t group[at_a_time];
      const std::int64_t groups = hits;
      for (std::int64_t h = 0; h < groups; ++h) group[h] = ahead[h];
      hits = find_hits(begin + at_a_time, last, bound, ahead);
      if (first + count + groups * size > last) return -1;
      // All masks first: a mispredicted branch of the next loop would stop loads that are under way behind
      // it.
      std::uint32_t masks[at_a_time];
      for (std::int64_t h = 0; h < groups; ++h) masks[h] = reaching(group[h], bound);
      for (std::int64_t h = 0; h < groups; ++h) {
        for (std::uint32_t mask = masks[h]; mask != 0; mask &= mask - 1) {
          const std::int64_t i = group[h] * size + Kokkos::countr_zero(mask);
          list[count++] = {static_cast<std::uint32_t>(i), block.values(i)};
        }
      }
    }
    return count;
  }

  /// hits <- those of the groups [first, first + at_a_time) below `last` that reach the bound; returns their
  /// number. Has no branch on the data, and prefetches the elements of the groups.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t find_hits(std::int64_t first, std::int64_t last,
                                                                   std::int32_t bound,
                                                                   std::int64_t* hits) const {
    std::int64_t count = 0;
    for (std::int64_t group = first; group < Kokkos::min(first + at_a_time, last); ++group) {
      hits[count] = group;
      count += block.reaches(group, bound) ? 1 : 0;
    }
    for (std::int64_t h = 0; h < count; ++h) prefetch(block.values.data() + hits[h] * size, size);
    return count;
  }

  /// A mask of a group's elements: bit k is set if element k reaches the bound.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::uint32_t reaching(std::int64_t group,
                                                                   std::int32_t bound) const {
    const float* const values = block.values.data() + group * size;
    const std::int64_t length = block.elements() - group * size;
    std::uint32_t mask = 0;
    if (length >= size) {  // a fixed length, for vectors
      for (unsigned k = 0; k < size; ++k) mask |= (magnitude_of(values[k]) >= bound ? 1U : 0U) << k;
    } else {
      for (unsigned k = 0; k < length; ++k) mask |= (magnitude_of(values[k]) >= bound ? 1U : 0U) << k;
    }
    return mask;
  }
};

}  // namespace kadam::detail
