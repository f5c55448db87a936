// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace kadam::workloads {

/// e^x within 2 units in the last place, without branches or tables, so that loops of it vectorise.
/// x is clamped to [-87, 88]; NaN stays NaN.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2, e^r by the polynomial of the Cephes library (expf), 2^n by its
/// exponent.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float exponential(float x) {
  constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  constexpr std::uint32_t to_integer_bits = 0x4b400000u;
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  const float shifted = x * 1.44269504088896341f + to_integer;
  const float n = shifted - to_integer;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const std::uint32_t exponent = Kokkos::bit_cast<std::uint32_t>(shifted) - to_integer_bits + 127u;
  return p * Kokkos::bit_cast<float>(exponent << 23);
}

}  // namespace kadam::workloads
