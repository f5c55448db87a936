// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// Digit 0, 1 or 2 of a magnitude: its 31 bits are cut into digits of 12, 10 and 9 bits, the highest first.
template <int Digit>
struct MagnitudeDigit {
  static constexpr int bits = Digit == 0 ? 12 : (Digit == 1 ? 10 : 9);
  static constexpr int shift = Digit == 0 ? 19 : (Digit == 1 ? 9 : 0);
  static constexpr std::int32_t bins = std::int32_t{1} << bits;

  /// The bin that counts a magnitude: its digit if its higher digits are `prefix`, `bins` if they are larger
  /// than prefix, -1 if they are smaller.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int32_t bin(std::int32_t magnitude,
                                                                    std::int32_t prefix) {
    const std::int32_t higher = magnitude >> (shift + bits);
    if (higher == prefix) return (magnitude >> shift) & (bins - 1);
    return higher > prefix ? std::int32_t{bins} : -1;
  }
};

/// The highest digits of the k-th largest magnitude, as far as they are found.
struct FoundDigits {
  std::int32_t prefix;  ///< the digits that are found, as one number
  std::int64_t wanted;  ///< number of magnitudes with these digits that are among the k largest
};

}  // namespace kadam::detail
