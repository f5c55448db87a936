// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/magnitude_cut.hpp>
#include <kadam/kernels/detail/magnitude_digit.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// Elements that share one "largest magnitude": a cache line of them.
inline constexpr std::int64_t top_k_group = 16;

/// An element that may be among the k largest.
struct Candidate {
  std::uint32_t index;
  float value;
};

/// Where the k largest elements of a long block may be, in parts of whole groups, one per thread or team.
///
/// k groups have an element at or above the k-th largest of the groups' largest, so the k largest elements
/// are in groups that reach it. On a CPU these elements are listed, part by part: to come back to a sixth of
/// the cache lines for each digit would cost more than to read all of them. A list has room for a sixteenth
/// of its part; a part with more (many equal ones) has no list.
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

/// Lists the elements of each part that reach the bound. Groups are copied first, and without branches on the
/// data, so that the processor waits for many cache lines at a time.
template <class MemorySpace>
struct ListCandidates {
  GroupedBlock<MemorySpace> block;

  KOKKOS_FUNCTION void operator()(const std::int64_t part) const { block.listed(part) = collect(part); }

 private:
  static constexpr std::int64_t at_a_time = 256;
  static constexpr std::int64_t size = top_k_group;

  /// Groups that reach the bound.
  struct Hits {
    std::int64_t count = 0;
    std::int64_t group[at_a_time];
    float values[at_a_time * size];
  };

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t collect(std::int64_t part) const {
    const std::int64_t first = block.group_from(block.begin(part));
    const std::int64_t last = block.group_from(block.end(part));
    const std::int32_t bound = block.bound();
    Candidate* const list = block.list.data() + first;
    std::int64_t count = 0;
    Hits hits;
    for (std::int64_t group = first; group < last; group += at_a_time) {
      copy_hits(group, Kokkos::min(group + at_a_time, last), bound, hits);
      for (std::int64_t h = 0; h < hits.count; ++h) {
        if (first + count + size > last) return -1;
        for (std::int64_t k = 0; k < size; ++k) {
          const float value = hits.values[h * size + k];
          list[count] = {static_cast<std::uint32_t>(hits.group[h] * size + k), value};
          count += magnitude_of(value) >= bound ? 1 : 0;
        }
      }
    }
    return count;
  }

  KOKKOS_FUNCTION void copy_hits(std::int64_t first, std::int64_t last, std::int32_t bound,
                                 Hits& hits) const {
    hits.count = 0;
    for (std::int64_t group = first; group < last; ++group) {
      hits.group[hits.count] = group;
      hits.count += block.reaches(group, bound) ? 1 : 0;
    }
    const float* const values = block.values.data();
    for (std::int64_t h = 0; h < hits.count; ++h) {
      const std::int64_t begin = hits.group[h] * size;
      if (begin + size <= block.elements()) {
        for (std::int64_t k = 0; k < size; ++k) hits.values[h * size + k] = values[begin + k];
      } else {  // zeros fill the last group: only a bound of 0 lists them, and then there are too many
        for (std::int64_t k = 0; k < size; ++k)
          hits.values[h * size + k] = begin + k < block.elements() ? values[begin + k] : 0.0F;
      }
    }
  }
};

}  // namespace kadam::detail
