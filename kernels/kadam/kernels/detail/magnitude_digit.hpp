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

}  // namespace kadam::detail
