// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

/// Formats in which gradients and copies of parameters are stored, and their conversion to and from float32.
/// Kernels compute with the float32 numbers.
///
/// Conversions are integer and float arithmetic and selects, without a branch: loops over them vectorise.
/// Kokkos' own half_t is a float on CPUs, so it saves no bytes there.
///
/// A number that decays step by step becomes subnormal, and stays so: 0.9 times 4 units of 2^-149 rounds to 4
/// units. Many processors need a hundred cycles and more to multiply such a number. So a kernel whose result
/// decays flushes it to zero.
namespace kadam {

/// The upper half of a float32: its range, 8 significant bits. Memory: 2 B.
struct Bfloat16 {
  std::uint16_t bits;
};

/// IEEE binary16: 11 significant bits, up to 65504, subnormal numbers down to 2^-24. Memory: 2 B.
struct Float16 {
  std::uint16_t bits;
};

enum class NumberFormat : std::uint8_t { float32, bfloat16, float16 };

template <class T>
concept Number = std::same_as<T, float> || std::same_as<T, Bfloat16> || std::same_as<T, Float16>;

template <Number T>
inline constexpr NumberFormat format_of = std::same_as<T, float>      ? NumberFormat::float32
                                          : std::same_as<T, Bfloat16> ? NumberFormat::bfloat16
                                                                      : NumberFormat::float16;

/// Bytes of a number. Worked number: 2 for bfloat16.
[[nodiscard]] constexpr std::size_t bytes_per_number(NumberFormat format) {
  return format == NumberFormat::float32 ? sizeof(float) : sizeof(std::uint16_t);
}

/// The name of a format in options and error messages.
[[nodiscard]] constexpr const char* name_of(NumberFormat format) {
  return format == NumberFormat::float32 ? "float32" : format == NumberFormat::bfloat16 ? "bf16" : "fp16";
}

/// Returns 0 in place of a subnormal number, whose magnitude is below 2^-126, and of -0. NaN stays NaN.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float flush_to_zero(float value) {
  constexpr std::uint32_t exponent = 0x7f800000U;  // one instruction less than a comparison of the magnitude
  return (Kokkos::bit_cast<std::uint32_t>(value) & exponent) == 0U ? 0.0F : value;
}

[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float to_float(float value) {
  return value;
}

/// Exact. Worked number: 0x3f80 is 1.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float to_float(Bfloat16 value) {
  return Kokkos::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

/// Exact; NaN stays NaN. Worked number: 0x3c00 is 1, 0x0001 is 2^-24.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float to_float(Float16 value) {
  constexpr std::int32_t bias = 112 << 23;  // of exponents: 127 - 15
  const std::int32_t magnitude = value.bits & 0x7fff;
  const std::int32_t shifted = (magnitude << 13) + bias;
  // A subnormal number is made as 2^-14 (1 + mantissa), from which 2^-14 is subtracted.
  const float one_more = Kokkos::bit_cast<float>(shifted + (1 << 23));
  const auto small = Kokkos::bit_cast<std::int32_t>(one_more - 0x1p-14F);
  const std::int32_t large = shifted + (magnitude >= 0x7c00 ? bias : 0);
  const auto without_sign = static_cast<std::uint32_t>(magnitude < 0x400 ? small : large);
  return Kokkos::bit_cast<float>(without_sign | (static_cast<std::uint32_t>(value.bits & 0x8000) << 16));
}

template <Number T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T round_to(float value);

template <>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float round_to<float>(float value) {
  return value;
}

/// Rounds `value` to the nearest, ties to even; NaN stays NaN. Worked number: 1 + 2^-8 lies halfway and
/// gives 1.
template <>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Bfloat16 round_to<Bfloat16>(float value) {
  const auto bits = Kokkos::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const bool is_nan = static_cast<std::int32_t>(bits & 0x7fffffffU) > 0x7f800000;
  return {static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40U : rounded)};
}

/// Rounds to one of the two neighbours, by chance: away from 0 with the probability f, where value lies at
/// the fraction f of the way from the neighbour nearer to 0 to the other. value: no NaN. random: 16 evenly
/// distributed bits; the mean of the results over all of them is the value. Worked number: 1 + 2^-9 lies a
/// quarter of the way from 1 to 1 + 2^-7, and gives 1 + 2^-7 for random >= 0xc000.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Bfloat16 round_by_chance(float value, std::uint32_t random) {
  return {static_cast<std::uint16_t>((Kokkos::bit_cast<std::uint32_t>(value) + random) >> 16)};
}

/// Rounds `value` to the nearest, ties to even; infinite from 65520 on; NaN stays NaN. Worked number: 65519
/// gives 65504.
template <>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Float16 round_to<Float16>(float value) {
  constexpr std::int32_t infinity = 0x7c00;
  const auto bits = Kokkos::bit_cast<std::uint32_t>(value);
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7fffffffU);
  // A carry out of the mantissa goes into the exponent, where it belongs.
  const std::int32_t normal = ((magnitude + 0xfff + ((magnitude >> 13) & 1)) >> 13) - (112 << 10);
  // Below 2^-14 to multiples of 2^-24, which is how far floats from 0.5 on lie apart.
  const std::int32_t small =
      Kokkos::bit_cast<std::int32_t>(Kokkos::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000;
  const std::int32_t rounded = magnitude < 0x38800000 ? small : normal;
  const std::int32_t in_range = rounded > infinity ? infinity : rounded;
  const std::int32_t nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  const auto without_sign = static_cast<std::uint32_t>(magnitude > 0x7f800000 ? nan : in_range);
  return {static_cast<std::uint16_t>(without_sign | ((bits >> 16) & 0x8000U))};
}

}  // namespace kadam
