// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// |value| as an integer, its bits without the sign: the order of magnitudes is kept, also of subnormal
/// numbers and infinities, zeros of both signs are equal, and a NaN is larger than all. A signed type,
/// because more processors can compare vectors of it.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int32_t magnitude_of(float value) {
  return static_cast<std::int32_t>(Kokkos::bit_cast<std::uint32_t>(value) & 0x7fffffffU);
}

/// The rule that selects the k largest of a sequence of magnitudes: all above the threshold, and the first
/// `ties` of those equal to it.
struct MagnitudeCut {
  std::int32_t threshold;
  std::int64_t ties;

  /// The mark of a magnitude, for sums of marks: the high 32 bits of a sum count the magnitudes above the
  /// threshold, the low 32 bits those equal to it. The mark is 0 below the threshold.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t mark(std::int32_t magnitude) const {
    if (magnitude > threshold) return std::int64_t{1} << 32;
    return magnitude == threshold ? 1 : 0;
  }
  /// Whether a magnitude is selected, if it is not below the threshold. before: the sum of the marks of all
  /// magnitudes before it.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool selects(std::int32_t magnitude, std::int64_t before) const {
    return magnitude > threshold || equals(before) < ties;
  }
  /// The number of selected magnitudes among the first ones of the sequence. marks: the sum of their marks.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t selected(std::int64_t marks) const {
    return (marks >> 32) + Kokkos::min(equals(marks), ties);
  }

 private:
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t equals(std::int64_t marks) {
    return marks & 0xffffffff;
  }
};

/// The highest bits of a threshold, if they are known already. By default none is.
struct KnownBits {
  std::int32_t threshold = 0;  ///< the known bits, and 0 in all others
  int others = 31;             ///< number of the lowest bits, which are unknown
  std::int64_t above = 0;      ///< number of magnitudes that are larger than the threshold in the known bits
};

/// Finds the cut that selects the k largest of magnitude(0) ... magnitude(elements - 1), 1 <= k <= elements.
/// known: bits of the threshold that the caller knows.
///
/// Bisects the bits of the threshold, one per counting pass, and ends as soon as exactly k magnitudes reach
/// it: about 15 passes when magnitudes differ, 31 when many are equal. A team, which has a barrier in each
/// pass, finds two bits per pass, and takes less than 2^21 elements. A negative magnitude stands for no
/// element: it is never selected if k others are not negative.
template <class Member, class Magnitude>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION MagnitudeCut find_cut(const Member& member, std::int64_t elements,
                                                                std::int64_t k, const Magnitude& magnitude,
                                                                const KnownBits& known = {}) {
  std::int32_t threshold = known.threshold;
  // The number of magnitudes that reach the last trial that was too high: in the end that is threshold + 1.
  std::int64_t above = known.above;
  int bits = known.others;
  if constexpr (!Member::is_one_thread) {
    constexpr int width = 21;  // bits of a count; three counts lie in one number
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
