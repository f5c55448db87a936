// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// The upper half of a float32, rounded to nearest even. NaN stays NaN.
/// Worked number: 1.0 is 0x3f80; 1 + 2^-9 rounds to 1.
[[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint16_t to_bfloat16(float value) {
  const auto bits = Kokkos::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

[[nodiscard]] KOKKOS_INLINE_FUNCTION float from_bfloat16(std::uint16_t half) {
  return Kokkos::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

/// out(i) = bfloat16 of values(i). Shape: both of the same length. Memory: 6 B per element.
template <class Exec, class MemorySpace>
void to_bfloat16(const Exec& exec, const Kokkos::View<const float*, MemorySpace>& values,
                 const Kokkos::View<std::uint16_t*, MemorySpace>& out) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::to_bfloat16", Policy(exec, 0, static_cast<std::int64_t>(values.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { out(i) = to_bfloat16(values(i)); });
}

/// out(i) = float32 of values(i). Shape: both of the same length. Memory: 6 B per element.
template <class Exec, class MemorySpace>
void from_bfloat16(const Exec& exec, const Kokkos::View<const std::uint16_t*, MemorySpace>& values,
                   const Kokkos::View<float*, MemorySpace>& out) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::from_bfloat16", Policy(exec, 0, static_cast<std::int64_t>(values.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { out(i) = from_bfloat16(values(i)); });
}

}  // namespace kadam
