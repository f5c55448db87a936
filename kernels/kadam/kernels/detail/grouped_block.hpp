// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/magnitude_cut.hpp>
#include <kadam/kernels/detail/magnitude_digit.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// Elements that share one "largest magnitude": two cache lines of them, a bit each in a 32-bit mask.
inline constexpr std::int64_t top_k_group = 32;

[[nodiscard]] inline std::int64_t top_k_groups(std::int64_t elements) {
  return (elements + top_k_group - 1) / top_k_group;
}

/// An element that may be among the k largest.
struct Candidate {
  std::uint32_t index;
  float value;
};

/// How often each digit occurs in each part of a vector: [part][bin].
template <class MemorySpace>
using Histograms = Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, MemorySpace>;

/// Where the k largest elements of a long block may be, in parts of whole groups, one per thread.
///
/// k groups have an element at or above the k-th largest of the groups' largest, so the k largest elements
/// are in groups that reach it. These elements are listed, part by part: to come back to a third of the cache
/// lines for each digit would cost more than to read all of them. A list has room for a 32nd of its part; a
/// part with more (many equal ones) has no list.
template <class MemorySpace>
struct GroupedBlock {
  Kokkos::View<const float*, MemorySpace> values;
  Kokkos::View<std::int32_t*, MemorySpace> largest;  ///< of each group; empty: all groups are looked at
  Kokkos::View<const FoundDigits*, MemorySpace> found;
  std::int64_t part_elements;
  Kokkos::View<std::int64_t*, MemorySpace> listed;  ///< elements in each part's list, -1: none; may be empty
  Kokkos::View<Candidate*, MemorySpace> list;       ///< a part's own begins at the number of its first group

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
  /// No smaller magnitude is among the k largest.
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t bound() const {
    return largest.extent(0) == 0 ? 0 : found(1).prefix << MagnitudeDigit<1>::shift;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool reaches(std::int64_t group, std::int32_t bound) const {
    return bound == 0 || largest(group) >= bound;
  }

  /// visit(i, value) for the elements of a part that may be among the k largest, in ascending order, by
  /// one thread.
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

/// The largest magnitude of every group, and how often each first digit of them occurs in each part.
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

/// The second digit of the groups' largest.
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

/// Lists the elements of each part that reach the bound, by a mask for each group that has any: to find them
/// one by one would cost a branch for each element.
template <class MemorySpace>
struct ListCandidates {
  GroupedBlock<MemorySpace> block;

  KOKKOS_FUNCTION void operator()(const std::int64_t part) const { block.listed(part) = collect(part); }

 private:
  static constexpr std::int64_t at_a_time = 64;
  static constexpr std::int64_t size = top_k_group;

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
      // All masks first: a branch that is not foreseen would stop what waits for memory behind it.
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

  /// The groups in reach of `first` that reach the bound, without branches on the data; asks for their
  /// elements.
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

  /// Bit k: element k of the group reaches the bound.
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
