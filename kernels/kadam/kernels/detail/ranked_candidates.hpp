// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/backend.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// Selects the k largest elements of a block, by a team that compares a few candidates with each other.
///
/// The block is cut into 128 groups: element i belongs to group i % 128. The bound is the k-th largest of the
/// groups' largest magnitudes. k groups reach it, so the k largest elements of the block do as well. The team
/// lists the elements that reach it, about 1.3 k, and compares each with all others: the number of larger
/// elements says whether it is selected, and the number of selected elements before it is its place. A team
/// has five barriers, however long the block; bisecting the bits of a threshold would take a dozen sums over
/// the team. Deterministic: the result does not depend on the order of the list.
///
/// Memory: two reads of the block, the second of them from cache.
class RankedCandidates {
 public:
  /// memory: scratch_words words of the team's scratch memory.
  KOKKOS_FUNCTION explicit RankedCandidates(std::uint64_t* memory)
      : keys_(memory),
        indices_(reinterpret_cast<std::uint32_t*>(memory + capacity)),
        largest_(reinterpret_cast<std::int32_t*>(indices_ + capacity)),
        bound_(largest_[groups]),
        count_(largest_[groups + 1]) {}

  /// visit(place, element) for each of the k largest of magnitude(0) ... magnitude(elements - 1), of equal
  /// ones those with the lower index; places are 0 to k - 1 and ascend with the index. Returns false, without
  /// a visit, if k > 96, if more than `capacity` elements reach the bound, or if fewer than k magnitudes are
  /// larger than 0.
  template <class Member, class Magnitude, class Visit>
  KOKKOS_FUNCTION bool select(const Member& member, std::int64_t elements, std::int64_t k,
                              const Magnitude& magnitude, const Visit& visit) const {
    if (4 * k > 3 * groups) return false;
    find_bound(member, elements, k, magnitude);
    list_those_that_reach(member, elements, magnitude);
    const std::int32_t count = count_;
    if (count > capacity || count < k) return false;
    member.for_each(count, [&](const std::int64_t c) {
      const std::uint64_t own = keys_[c];
      std::int32_t larger = 0;
      for (std::int32_t other = 0; other < count; ++other) larger += keys_[other] > own ? 1 : 0;
      indices_[c] = larger < k ? index_of(own) : none;
    });
    member.for_each(count, [&](const std::int64_t c) {
      const std::uint32_t own = indices_[c];
      if (own == none) return;
      std::int32_t before = 0;
      for (std::int32_t other = 0; other < count; ++other) before += indices_[other] < own ? 1 : 0;
      visit(std::int64_t{before}, std::int64_t{own});
    });
    return true;
  }

  static constexpr std::int64_t groups = 128;
  static constexpr std::int32_t capacity = 512;
  static constexpr std::int64_t scratch_words = capacity + capacity / 2 + groups / 2 + 1;  ///< of 8 bytes

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// A key that is larger for a larger magnitude and, of equal magnitudes, for a lower index.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::uint64_t key_of(std::int32_t magnitude,
                                                                        std::int64_t index) {
    return std::uint64_t{static_cast<std::uint32_t>(magnitude)} << 32U | ~static_cast<std::uint32_t>(index);
  }
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::uint32_t index_of(std::uint64_t key) {
    return ~static_cast<std::uint32_t>(key);
  }

  /// visit(i, own) for i = first, first + at_a_time step, ... below elements: own[j] is the magnitude of
  /// element i + j step, or 0 behind the last element. All at_a_time of them are loaded before the visit.
  template <class Magnitude, class Visit>
  static KOKKOS_FORCEINLINE_FUNCTION void for_each_row(std::int64_t first, std::int64_t elements,
                                                       std::int64_t step, const Magnitude& magnitude,
                                                       const Visit& visit) {
    std::int32_t own[at_a_time];
    std::int64_t i = first;
    KADAM_DO_NOT_UNROLL
    for (; i + (at_a_time - 1) * step < elements; i += at_a_time * step) {
      KADAM_UNROLL
      for (int j = 0; j < at_a_time; ++j) own[j] = magnitude(i + j * step);
      visit(i, own);
    }
    if (i >= elements) return;
    KADAM_UNROLL
    for (int j = 0; j < at_a_time; ++j) own[j] = i + j * step < elements ? magnitude(i + j * step) : 0;
    visit(i, own);
  }

  /// bound_ <- the k-th largest of the groups' largest magnitudes, or a little less: the number of the group
  /// takes the place of the lowest bits, so that no two are equal. count_ <- 0.
  template <class Member, class Magnitude>
  KOKKOS_FORCEINLINE_FUNCTION void find_bound(const Member& member, std::int64_t elements, std::int64_t k,
                                              const Magnitude& magnitude) const {
    constexpr auto number_bits = static_cast<std::int32_t>(groups - 1);
    member.for_each(groups, [&](const std::int64_t g) {
      std::int32_t largest = 0;
      for_each_row(g, elements, groups, magnitude, [&](std::int64_t /*i*/, const std::int32_t* own) {
        KADAM_UNROLL
        for (int j = 0; j < at_a_time; ++j) largest = Kokkos::max(largest, own[j]);
      });
      largest_[g] = (largest & ~number_bits) | static_cast<std::int32_t>(g);
      if (g == 0) count_ = 0;
    });
    member.for_each(groups, [&](const std::int64_t g) {
      const std::int32_t own = largest_[g];
      std::int32_t larger = 0;
      KADAM_DO_NOT_UNROLL
      for (std::int64_t first = 0; first < groups; first += at_a_time) {
        KADAM_UNROLL
        for (int j = 0; j < at_a_time; ++j) larger += largest_[first + j] > own ? 1 : 0;
      }
      if (larger == k - 1) bound_ = own & ~number_bits;
    });
  }

  /// keys_ <- the keys of the elements that reach the bound, in any order; count_ <- their number, which may
  /// exceed capacity.
  template <class Member, class Magnitude>
  KOKKOS_FORCEINLINE_FUNCTION void list_those_that_reach(const Member& member, std::int64_t elements,
                                                         const Magnitude& magnitude) const {
    // A magnitude of 0 also stands for indices behind the last element, which a bound of 0 would list.
    const std::int32_t bound = Kokkos::max(bound_, 1);
    const std::int64_t step = member.threads();
    member.for_each(step, [&](const std::int64_t thread) {
      for_each_row(thread, elements, step, magnitude, [&](const std::int64_t i, const std::int32_t* own) {
        std::uint32_t reach = 0;
        KADAM_UNROLL
        for (int j = 0; j < at_a_time; ++j) reach |= (own[j] >= bound ? 1U : 0U) << static_cast<unsigned>(j);
        for (; reach != 0; reach &= reach - 1) {
          const std::int64_t one = i + Kokkos::Experimental::countr_zero_builtin(reach) * step;
          const std::int32_t place = fetch_and_increment_in_scratch(count_);
          if (place < capacity) keys_[place] = key_of(magnitude(one), one);
        }
      });
    });
  }

  static constexpr int at_a_time = 8;

  std::uint64_t* keys_;
  std::uint32_t* indices_;
  std::int32_t* largest_;
  std::int32_t& bound_;
  std::int32_t& count_;
};

}  // namespace kadam::detail
