// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// |value| as an integer of the same order: denormals, infinities and zeros of both signs are where they
/// belong, and a NaN is larger than all of them. Signed, because more processors compare such vectors.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int32_t magnitude_of(float value) {
  return static_cast<std::int32_t>(Kokkos::bit_cast<std::uint32_t>(value) & 0x7fffffffU);
}

/// Which of some magnitudes are the k largest: all above the threshold, and the first `ties` equal to it.
struct MagnitudeCut {
  std::int32_t threshold;
  std::int64_t ties;

  /// 0 for what stays, else a mark whose sums tell how many come before: those above in the high half, those
  /// equal to the threshold in the low half.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t mark(std::int32_t magnitude) const {
    if (magnitude > threshold) return std::int64_t{1} << 32;
    return magnitude == threshold ? 1 : 0;
  }
  /// Whether one with this mark is selected, by the marks before it.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool selects(std::int32_t magnitude, std::int64_t before) const {
    return magnitude > threshold || equals(before) < ties;
  }
  /// How many are selected among those with these marks.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t selected(std::int64_t marks) const {
    return (marks >> 32) + Kokkos::min(equals(marks), ties);
  }

 private:
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t equals(std::int64_t marks) {
    return marks & 0xffffffff;
  }
};

/// What is known of a threshold: its bits but for the lowest, and how many magnitudes have larger ones.
struct KnownBits {
  std::int32_t threshold = 0;  ///< 0 in the others
  int others = 31;
  std::int64_t above = 0;
};

/// The cut below the k largest of magnitude(0) ... magnitude(elements - 1), 1 <= k <= elements.
///
/// Bisects the bits of the threshold and ends as soon as exactly k magnitudes reach it: about 15 counting
/// passes when they differ, 31 when many are equal. A team, which waits for itself in each, takes two bits in
/// a pass. A negative magnitude is never selected as long as there are k others.
template <class Member, class Magnitude>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION MagnitudeCut find_cut(const Member& member, std::int64_t elements,
                                                                std::int64_t k, const Magnitude& magnitude,
                                                                const KnownBits& known = {}) {
  std::int32_t threshold = known.threshold;
  std::int64_t above = known.above;  // of the last trial that is too high, which is threshold + 1 in the end
  int bits = known.others;
  if constexpr (!Member::is_one_thread) {
    constexpr int width = 21;  // of a count; three of them lie in a number
    for (; bits >= 2; bits -= 2) {
      const std::int32_t unit = std::int32_t{1} << (bits - 2);
      const std::int64_t counts = member.total(elements, [&](const std::int64_t i) {
        const std::int32_t more = magnitude(i) - threshold;
        return (more >= unit ? std::int64_t{1} : 0) + (more >= 2 * unit ? std::int64_t{1} << width : 0) +
               (more >= 3 * unit ? std::int64_t{1} << (2 * width) : 0);
      });
      const auto reached = [&](int digit) {
        return (counts >> ((digit - 1) * width)) & ((std::int64_t{1} << width) - 1);
      };
      const int digit = reached(3) >= k ? 3 : reached(2) >= k ? 2 : reached(1) >= k ? 1 : 0;
      if (digit < 3) above = reached(digit + 1);
      threshold += digit * unit;
      if (digit > 0 && reached(digit) == k) return {threshold, k};
    }
  }
  for (int bit = bits - 1; bit >= 0; --bit) {
    const std::int32_t trial = threshold | (std::int32_t{1} << bit);
    const std::int64_t reached =
        member.count(elements, [&](const std::int64_t i) { return magnitude(i) >= trial; });
    if (reached < k) {
      above = reached;
    } else {
      threshold = trial;
      if (reached == k) return {threshold, k};
    }
  }
  return {threshold, k - above};
}

}  // namespace kadam::detail
