// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/number_format.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

/// Defined where a fused multiply-add is one instruction: elsewhere it is a slow function.
#if defined(__FP_FAST_FMA) || defined(__FMA__) || defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define KADAM_FUSED_MULTIPLY_ADD
#endif

namespace kadam {

/// A code of the block coder: a stateless rule that turns a block into one scale and one code of fixed width
/// per element. `statistic` is a number of the block from which the scale follows. A scale is never
/// subnormal: it is 0 instead, which says that the block holds nothing.
template <class Q>
concept Quantiser = requires(const Q& q, float h, double statistic, std::int64_t count, std::uint32_t code) {
  { Q::name } -> std::convertible_to<std::string_view>;    // the code's name in the option `code`
  { Q::bits } -> std::convertible_to<int>;                 // of each element's code: 1, 2, 4, 8 or 32
  { Q::has_scale } -> std::convertible_to<bool>;           // a scale in the message: 4 more bytes per block
  { Q::has_zero } -> std::convertible_to<bool>;            // one code decodes to 0, whatever the scale is
  { Q::reduces_by_max } -> std::convertible_to<bool>;      // statistic: the largest |h|, or else a sum
  { q.accumulate(statistic, h) } -> std::same_as<double>;  // the statistic with one more element
  {
    q.scale(statistic, count)
    } -> std::same_as<float>;  // count: active elements, if the statistic is a sum; else not used
  { q.encode(h, float{}) } -> std::same_as<std::uint32_t>;
  { q.decode(code, float{}) } -> std::same_as<float>;
};

/// How the scale of a sign code is found: see SignQuantiser.
enum class SignScale : std::uint8_t { rms, mean_abs };

/// One bit per element: decoded +s where h >= 0 (so for -0 too), else -s, with one s per block.
///
/// s = sqrt(sum h^2 / k) (rms, keeps the block's energy) or sum |h| / k (mean_abs, smallest squared error)
/// over the k active elements. Worked number: h = (3, -4) gives s = 3.5355 (rms) or 3.5 (mean_abs).
struct SignQuantiser {
  static constexpr std::string_view name = "sign";
  static constexpr int bits = 1;
  static constexpr bool has_scale = true;
  static constexpr bool has_zero = false;
  static constexpr bool reduces_by_max = false;

  SignScale rule = SignScale::rms;

  [[nodiscard]] KOKKOS_INLINE_FUNCTION double accumulate(double sum, float h) const {
    // The rule chooses a factor, not a branch: the sum over a block vectorises. The product of two floats is
    // exact in double, so a fused multiply-add rounds as a sum does.
    const double size = Kokkos::fabs(static_cast<double>(h));
    const double factor = rule == SignScale::rms ? size : 1.0;
#if defined(KADAM_FUSED_MULTIPLY_ADD)
    return Kokkos::fma(size, factor, sum);
#else
    return sum + size * factor;
#endif
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float scale(double statistic, std::int64_t count) const {
    if (count == 0) return 0.0F;
    const double mean = statistic / static_cast<double>(count);
    return flush_to_zero(static_cast<float>(rule == SignScale::rms ? Kokkos::sqrt(mean) : mean));
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint32_t encode(float h, float /*scale*/) const {
    return h >= 0.0F ? 1U : 0U;
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float decode(std::uint32_t code, float scale) const {
    return code != 0U ? scale : -scale;
  }
};

namespace detail {

/// Returns value / unit, for many values and one unit. Requires unit >= 2^-126, which holds for every scale
/// but 0. A quotient of 0 may lose its sign, and one below 2^-100 may be off in its last bit: no code depends
/// on either. One beyond 2^124 may be infinite or not a number.
///
/// A division takes a vector unit as long as ten products, and on a GPU it has a branch for rare cases. So
/// this multiplies by 1 / unit, which is computed once for all values, and corrects the product: the result
/// is that of a division (Markstein 1990). Both numbers are scaled by one power of two first, so that no rare
/// case is left. Nothing here is a choice between numbers: compilers would make a loop for each, and some of
/// these without vectors. A processor without a fused multiply-add divides.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float quotient(float value, float unit) {
#if defined(KADAM_FUSED_MULTIPLY_ADD)
  constexpr std::int32_t infinity = 0xff << 23;
  const auto bits = Kokkos::min(Kokkos::bit_cast<std::int32_t>(unit), infinity - 1);
  const auto factor = Kokkos::bit_cast<float>(infinity - (bits & infinity));
  const float scaled = Kokkos::bit_cast<float>(bits) * factor;  // at least 2, below 4
  const float inverse = 1.0F / (unit * factor);                 // 0 if the unit is infinite
  const float near = value * factor * inverse;
  return Kokkos::fma(Kokkos::fma(-near, scaled, value * factor), inverse, near);
#else
  return value / unit;
#endif
}

/// Returns min(|value| / unit, Limit), with 1 in place of a unit of 0. Requires a unit that is 0 or at least
/// 2^-126.
template <int Limit>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float clipped_quotient(float value, float unit) {
  constexpr auto limit = static_cast<float>(Limit);
  // In this order the smaller of the limit and of a quotient that is not a number is the limit.
  return Kokkos::min(float{limit}, Kokkos::fabs(quotient(value, unit > 0.0F ? unit : 1.0F)));
}

}  // namespace detail

/// Uniform mid-tread code of 2, 4 or 8 bits: q = clip(round-half-even(h / step), -L, L), L = 2^(bits-1) - 1,
/// step = max|h| / L; decoded q step. An all-zero block decodes to 0.
///
/// Worked number: 4 bits, max|h| = 0.7: step = 0.1, and 0.25 decodes to 0.2 (half to even).
template <int Bits>
struct UniformQuantiser {
  static_assert(Bits == 2 || Bits == 4 || Bits == 8, "a uniform code has 2, 4 or 8 bits");
  static constexpr std::string_view name = Bits == 2 ? "uniform2" : (Bits == 4 ? "uniform4" : "uniform8");
  static constexpr int bits = Bits;
  static constexpr bool has_scale = true;
  static constexpr bool has_zero = true;
  static constexpr bool reduces_by_max = true;
  static constexpr int levels = (1 << (Bits - 1)) - 1;

  [[nodiscard]] KOKKOS_INLINE_FUNCTION double accumulate(double so_far, float h) const {
    return Kokkos::max(so_far, static_cast<double>(Kokkos::fabs(h)));
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float scale(double statistic, std::int64_t /*count*/) const {
    return flush_to_zero(static_cast<float>(statistic) / static_cast<float>(levels));
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint32_t encode(float h, float step) const {
    // Codes are q + L, so that they are unsigned. With a step of 0 all are L, because |h| is far below 1/2.
    // 1.5 2^23 + z has the integer nearest to z in its low bits, half to even. No branches: this vectorises.
    constexpr float shifter = 0x1.8p23F;
    const float size = detail::clipped_quotient<levels>(h, step);
    return Kokkos::bit_cast<std::uint32_t>(Kokkos::copysign(size, h) + shifter) -
           (Kokkos::bit_cast<std::uint32_t>(shifter) - static_cast<std::uint32_t>(levels));
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float decode(std::uint32_t code, float step) const {
    return static_cast<float>(static_cast<int>(code) - levels) * step;
  }
};

/// An 8-bit float, e4m3 (a sign, 4 bits of exponent and 3 of mantissa), of h / s, rounded half to even, with
/// one s = max|h| / 448 per block (448 is the largest e4m3). A small element of a block keeps 4 significant
/// bits down to max|h| / 28672, where a uniform code of 8 bits has none left. An all-zero block decodes to 0.
///
/// Worked number: max|h| = 448: s = 1, and 0.3 decodes to 0.3125.
struct Float8Quantiser {
  static constexpr std::string_view name = "float8";
  static constexpr int bits = 8;
  static constexpr bool has_scale = true;
  static constexpr bool has_zero = true;
  static constexpr bool reduces_by_max = true;
  static constexpr float largest = 448.0F;
  static constexpr float smallest_normal = 0x1p-6F;

  [[nodiscard]] KOKKOS_INLINE_FUNCTION double accumulate(double so_far, float h) const {
    return Kokkos::max(so_far, static_cast<double>(Kokkos::fabs(h)));
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float scale(double statistic, std::int64_t /*count*/) const {
    return flush_to_zero(static_cast<float>(statistic) / largest);
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint32_t encode(float h, float scale) const {
    // No branches, not for a scale of 0 either: all this vectorises.
    const float size = detail::clipped_quotient<static_cast<int>(largest)>(h, scale);
    // Below the smallest normal number codes are multiples of 2^-9, which is the unit in the last place of a
    // float32 of size 2^14.
    constexpr float shifter = 0x1p14F;
    const std::uint32_t subnormal =
        Kokkos::bit_cast<std::uint32_t>(size + shifter) - Kokkos::bit_cast<std::uint32_t>(shifter);
    // 20 bits of float32's mantissa are rounded away, half to even; a carry goes on into the exponent.
    const auto full = Kokkos::bit_cast<std::uint32_t>(size);
    const std::uint32_t normal = ((full + 0x7FFFFU + ((full >> 20U) & 1U)) >> 20U) - (bias_difference << 3U);
    const std::uint32_t sign = (Kokkos::bit_cast<std::uint32_t>(h) >> 24U) & sign_bit;
    return sign | (size < smallest_normal ? subnormal : normal);
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float decode(std::uint32_t code, float scale) const {
    const std::uint32_t size = code & (sign_bit - 1U);
    const float normal = Kokkos::bit_cast<float>((size << 20U) + (bias_difference << 23U));
    const float subnormal = static_cast<float>(static_cast<int>(size)) * 0x1p-9F;
    const float magnitude = size < 8U ? subnormal : normal;
    return scale *
           Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(magnitude) | ((code & sign_bit) << 24U));
  }

 private:
  static constexpr std::uint32_t sign_bit = 0x80U;
  static constexpr std::uint32_t bias_difference = 120U;  // of the exponents: 127 in float32, 7 in e4m3
};

/// Two bits per element, at the four best points of a Gaussian: h goes to the nearest of +-0.4528 s and
/// +-1.5104 s, + where h >= 0 (so for -0 too), with one s = sqrt(sum h^2 / k) over the k active elements of a
/// block, as that of a sign code (rms). No other four levels have a smaller squared error where h is Gaussian
/// (Max, Quantizing for minimum distortion, 1960). An all-zero block decodes to 0.
///
/// Worked number: h = (3, -4): s = 3.5355, the border between the two sizes is 3.4705, so that 3 decodes to
/// 1.6009 and -4 to -5.3401.
struct Gauss2Quantiser {
  static constexpr std::string_view name = "gauss2";
  static constexpr int bits = 2;
  static constexpr bool has_scale = true;
  static constexpr bool has_zero = false;
  static constexpr bool reduces_by_max = false;
  static constexpr float low = 0.4528F;
  static constexpr float high = 1.5104F;
  static constexpr float border = 0.9816F;

  [[nodiscard]] KOKKOS_INLINE_FUNCTION double accumulate(double sum, float h) const {
    return SignQuantiser{SignScale::rms}.accumulate(sum, h);
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float scale(double statistic, std::int64_t count) const {
    return SignQuantiser{SignScale::rms}.scale(statistic, count);
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint32_t encode(float h, float scale) const {
    // Two selections of numbers instead of branches: this vectorises, and so does decode().
    const std::uint32_t sign = h >= 0.0F ? std::uint32_t{positive_bit} : 0U;
    const std::uint32_t size = Kokkos::fabs(h) >= border * scale ? std::uint32_t{high_bit} : 0U;
    return sign | size;
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float decode(std::uint32_t code, float scale) const {
    const float size = scale * ((code & high_bit) != 0U ? float{high} : float{low});
    return (code & positive_bit) != 0U ? size : -size;
  }

 private:
  static constexpr std::uint32_t high_bit = 1U;
  static constexpr std::uint32_t positive_bit = 2U;
};

/// The code is the float32 itself: exact, no scale, 4 bytes per element. Encoders with error feedback flush
/// subnormal numbers to zero before.
struct IdentityQuantiser {
  static constexpr std::string_view name = "identity";
  static constexpr int bits = 32;
  static constexpr bool has_scale = false;
  static constexpr bool has_zero = true;
  static constexpr bool reduces_by_max = true;

  [[nodiscard]] KOKKOS_INLINE_FUNCTION double accumulate(double /*statistic*/, float /*h*/) const {
    return 0.0;
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float scale(double /*statistic*/, std::int64_t /*count*/) const {
    return 0.0F;
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint32_t encode(float h, float /*scale*/) const {
    return Kokkos::bit_cast<std::uint32_t>(h);
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float decode(std::uint32_t code, float /*scale*/) const {
    return Kokkos::bit_cast<float>(code);
  }
};

}  // namespace kadam
