// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

/// Number formats, defined by their values: a mantissa times a power of two.
namespace kadam::reference {

/// 0 in place of a number that is too small for a normal float32.
inline float flushed(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? 0.0F : value;
}

/// A format; by default float32.
struct Format {
  int mantissa_bits = 24;     ///< the leading one included
  int least_exponent = -126;  ///< of normal numbers
  int greatest_exponent = 127;

  static Format named(const std::string& name) {
    if (name == "float32" || name.empty()) return {};
    if (name == "bf16") return {8, -126, 127};
    if (name == "fp16") return {11, -14, 15};
    throw std::invalid_argument("no reference knows the format " + name);
  }

  /// Rounds to nearest, ties to even; to infinity from half an ulp beyond the largest number on.
  [[nodiscard]] float rounded(float value) const {
    if (mantissa_bits == 24 || !std::isfinite(value) || value == 0.0F) return value;  // 24: float32 itself
    int exponent = 0;
    (void)std::frexp(value, &exponent);  // value = m 2^exponent, 0.5 <= |m| < 1
    const int unit = std::max(exponent, least_exponent + 1) - mantissa_bits;
    const double result = std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(value), -unit)), unit);
    if (std::fabs(result) < std::ldexp(1.0, greatest_exponent + 1)) return static_cast<float>(result);
    return std::copysign(std::numeric_limits<float>::infinity(), value);
  }
  [[nodiscard]] std::vector<float> rounded(std::vector<float> values) const {
    for (float& value : values) value = rounded(value);
    return values;
  }

  /// The value of 16 bits of this format: sign, exponent, mantissa.
  [[nodiscard]] float value_of(std::uint16_t bits) const {
    const int fraction_bits = mantissa_bits - 1;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const int exponent = (bits & 0x7fff) >> fraction_bits;
    const int special = 2 * greatest_exponent + 1;
    double magnitude = 0.0;
    if (exponent == special) {
      magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    } else if (exponent == 0) {
      magnitude = std::ldexp(fraction, least_exponent - fraction_bits);
    } else {
      magnitude = std::ldexp(fraction + (1 << fraction_bits), exponent - greatest_exponent - fraction_bits);
    }
    return static_cast<float>(bits >= 0x8000 ? -magnitude : magnitude);
  }
};

}  // namespace kadam::reference
