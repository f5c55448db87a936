// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// The 31 bits of a magnitude in digits of 12, 10 and 9 bits, the highest first.
template <int Digit>
struct MagnitudeDigit {
  static constexpr int bits = Digit == 0 ? 12 : (Digit == 1 ? 10 : 9);
  static constexpr int shift = Digit == 0 ? 19 : (Digit == 1 ? 9 : 0);
  static constexpr std::int32_t bins = std::int32_t{1} << bits;

  /// This digit of a magnitude whose higher digits are `prefix`; `bins` if they are larger, -1 if smaller.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int32_t bin(std::int32_t magnitude,
                                                                    std::int32_t prefix) {
    const std::int32_t higher = magnitude >> (shift + bits);
    if (higher == prefix) return (magnitude >> shift) & (bins - 1);
    return higher > prefix ? std::int32_t{bins} : -1;
  }
};

/// What is known of the k-th largest after some digits.
struct FoundDigits {
  std::int32_t prefix;  ///< these digits of it
  std::int64_t wanted;  ///< how many with these digits are among the k largest
};

/// How often each digit occurs in each part of a vector: [part][bin].
template <class MemorySpace>
using Histograms = Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, MemorySpace>;

/// found(next): one digit more, by a scan over its bins from the largest down.
template <class MemorySpace>
struct FindDigit {
  Histograms<MemorySpace> histograms;
  Kokkos::View<FoundDigits*, MemorySpace> found;
  FoundDigits start;  ///< for the first digit
  int previous;       ///< found() so far; -1: start
  int next;
  int bits;

  KOKKOS_FUNCTION void operator()(const std::int64_t i, std::int64_t& before, const bool is_final) const {
    const std::int64_t bin = (std::int64_t{1} << bits) - 1 - i;
    std::int64_t own = 0;
    for (std::int64_t part = 0; part < histograms.extent_int(0); ++part) own += histograms(part, bin);
    if (is_final) {
      const FoundDigits so_far = previous < 0 ? start : found(previous);
      if (before < so_far.wanted && before + own >= so_far.wanted) {
        found(next) = {(so_far.prefix << bits) | static_cast<std::int32_t>(bin), so_far.wanted - before};
      }
    }
    before += own;
  }
};

/// marks(part) <- the sum of MagnitudeCut::mark over all parts before it, from the last digit's histograms.
template <class MemorySpace>
struct SumMarks {
  Histograms<MemorySpace> histograms;
  Kokkos::View<const FoundDigits*, MemorySpace> found;
  Kokkos::View<std::int64_t*, MemorySpace> marks;

  KOKKOS_FUNCTION void operator()(const std::int64_t part, std::int64_t& before, const bool is_final) const {
    constexpr std::int64_t bins = MagnitudeDigit<2>::bins;
    const std::int64_t threshold = found(4).prefix & (bins - 1);
    std::int64_t above = 0;
    for (std::int64_t bin = threshold + 1; bin <= bins; ++bin) above += histograms(part, bin);
    if (is_final) marks(part) = before;
    before += (above << 32) + histograms(part, threshold);
  }
};

}  // namespace kadam::detail
