// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/quantiser.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace kadam {
namespace {

/// Numbers of all sizes, a part of them with mantissas near 1 and 2, where quotients are hard to round.
std::vector<float> hard_numbers(int count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const std::uint32_t exponent = 1U + (bits & 0xffU) % 254U;
    const std::uint32_t rest = static_cast<std::uint32_t>(random()) & 0x7fffffU;
    const std::uint32_t mantissa = i % 3 == 0 ? rest & 3U : (i % 3 == 1 ? 0x7fffffU - (rest & 3U) : rest);
    numbers.push_back(std::bit_cast<float>((bits & 0x80000000U) | (exponent << 23U) | mantissa));
  }
  return numbers;
}

TEST(Quotient, IsThatOfADivision) {
  const std::vector<float> numbers = hard_numbers(2000, 6);
  int compared = 0;
  for (const float any : hard_numbers(2000, 5)) {
    const float unit = std::abs(any);
    for (const float value : numbers) {
      const float expected = value / unit;
      if (std::abs(expected) > 0x1p124F || std::abs(expected) < 0x1p-100F) continue;
      ASSERT_EQ(detail::quotient(value, unit), expected) << std::hexfloat << value << " / " << unit;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100000);
}

/// Round to nearest, ties to even, then clip: as the C library does it.
template <int Bits>
float nearest(float h, float step) {
  constexpr auto limit = static_cast<float>(UniformQuantiser<Bits>::levels);
  return std::clamp(std::nearbyint(h / step), -limit, limit) * step;
}

template <int Bits>
void rounds_as_the_library() {
  const UniformQuantiser<Bits> quantiser;
  const auto decoded = [&](float h, float step) { return quantiser.decode(quantiser.encode(h, step), step); };
  std::vector<float> values = test::random_vector(10000, 3);
  for (int half = -300; half <= 300; ++half) {  // ties, and their neighbours
    const float tie = 0.5F * static_cast<float>(half);
    values.insert(values.end(), {tie, std::nextafter(tie, 1e9F), std::nextafter(tie, -1e9F)});
  }
  const float inf = std::numeric_limits<float>::infinity();
  values.insert(values.end(), {448.0F, -448.0F, 1e6F, -1e6F, 3e38F, -3e38F, inf, -inf});
  for (const float step : {1.0F, 0.37F, 3e-5F, std::numeric_limits<float>::min(), 1e35F}) {
    for (const float value : values) {
      for (const float h : {value, value * step}) {
        ASSERT_EQ(decoded(h, step), nearest<Bits>(h, step)) << h << " / " << step;
      }
    }
  }
  EXPECT_EQ(decoded(0.0F, 0.0F), 0.0F);  // the step of a block without anything
}

TEST(UniformQuantiser, RoundsAsTheLibrary) {
  rounds_as_the_library<2>();
  rounds_as_the_library<4>();
  rounds_as_the_library<8>();
}

TEST(UniformQuantiser, HandSized) {
  const UniformQuantiser<4> quantiser;
  EXPECT_FLOAT_EQ(quantiser.scale(0.7, 2), 0.1F);
  EXPECT_EQ(quantiser.encode(2.5F, 1.0F), 7U + 2U);  // half to even
  EXPECT_EQ(quantiser.encode(3.5F, 1.0F), 7U + 4U);
  EXPECT_EQ(quantiser.encode(-9.0F, 1.0F), 0U);
  EXPECT_EQ(quantiser.decode(0U, 0.5F), -3.5F);
}

/// The numbers of e4m3 from 0 up, from the definition: 2^e (1 + m/8), and m 2^-9 below 2^-6.
std::vector<float> all_float8() {
  std::vector<float> numbers;
  for (int code = 0; code < 127; ++code) {  // 127 would be NaN
    const int exponent = code / 8;
    const auto mantissa = static_cast<float>(code % 8);
    numbers.push_back(exponent == 0 ? std::ldexp(mantissa, -9)
                                    : std::ldexp(1.0F + mantissa / 8.0F, exponent - 7));
  }
  return numbers;
}

TEST(Float8Quantiser, EveryCodeIsItsNumber) {
  const Float8Quantiser quantiser;
  const std::vector<float> numbers = all_float8();
  EXPECT_EQ(numbers.back(), Float8Quantiser::largest);
  for (std::size_t code = 0; code < numbers.size(); ++code) {
    for (const float scale : {1.0F, 0.37F, 1e-30F}) {
      const auto positive = static_cast<std::uint32_t>(code);
      ASSERT_EQ(quantiser.decode(positive, scale), numbers[code] * scale);
      ASSERT_EQ(quantiser.decode(positive | 0x80U, scale), -numbers[code] * scale);
    }
    ASSERT_EQ(quantiser.encode(numbers[code], 1.0F), code);
    ASSERT_EQ(quantiser.encode(-numbers[code], 1.0F), code | 0x80U);
  }
}

TEST(Float8Quantiser, TakesTheNearestNumber) {
  const Float8Quantiser quantiser;
  const std::vector<float> numbers = all_float8();
  for (std::size_t code = 0; code + 1 < numbers.size(); ++code) {
    const float tie = 0.5F * (numbers[code] + numbers[code + 1]);
    ASSERT_EQ(quantiser.encode(tie, 1.0F), code % 2 == 0 ? code : code + 1) << tie;  // half to even
    ASSERT_EQ(quantiser.encode(std::nextafter(tie, 0.0F), 1.0F), code) << tie;
    ASSERT_EQ(quantiser.encode(std::nextafter(tie, 1e9F), 1.0F), code + 1) << tie;
  }
  const float inf = std::numeric_limits<float>::infinity();
  for (const float unit : {1.0F, 2e-38F}) {
    for (const float beyond : {449.0F, 1e30F, inf}) {
      EXPECT_EQ(quantiser.encode(beyond, unit), 126U) << beyond << " / " << unit;
      EXPECT_EQ(quantiser.encode(-beyond, unit), 126U | 0x80U) << -beyond << " / " << unit;
    }
  }
}

TEST(Float8Quantiser, HandSized) {
  const Float8Quantiser quantiser;
  EXPECT_EQ(quantiser.scale(448.0, 2), 1.0F);
  EXPECT_EQ(quantiser.decode(quantiser.encode(0.3F, 1.0F), 1.0F), 0.3125F);
  EXPECT_EQ(quantiser.decode(quantiser.encode(0.0F, 0.0F), 0.0F), 0.0F);    // of a block without anything
  EXPECT_EQ(quantiser.decode(quantiser.encode(1e-42F, 0.0F), 0.0F), 0.0F);  // of one with next to nothing
}

/// Each level is the mean of what is decoded as it, and they meet half-way: what makes them the best.
TEST(Gauss2Quantiser, HasTheBestLevelsForAGaussian) {
  const double border = 0.5 * (static_cast<double>(Gauss2Quantiser::low) + Gauss2Quantiser::high);
  EXPECT_NEAR(Gauss2Quantiser::border, border, 1e-6);
  const auto density = [](double z) { return std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::acos(-1.0)); };
  const double beyond = 0.5 * std::erfc(border / std::sqrt(2.0));  // the part of numbers above the border
  EXPECT_NEAR(Gauss2Quantiser::high, density(border) / beyond, 1e-4);
  EXPECT_NEAR(Gauss2Quantiser::low, (density(0.0) - density(border)) / (0.5 - beyond), 1e-4);
}

TEST(Gauss2Quantiser, HandSized) {
  const Gauss2Quantiser quantiser;
  const float scale = quantiser.scale(quantiser.accumulate(quantiser.accumulate(0.0, 3.0F), -4.0F), 2);
  EXPECT_FLOAT_EQ(scale, 3.5355339F);
  EXPECT_EQ(quantiser.encode(3.0F, scale), 0b10U);
  EXPECT_EQ(quantiser.encode(-4.0F, scale), 0b01U);
  EXPECT_NEAR(quantiser.decode(0b10U, scale), 1.6008897, 1e-6);
  EXPECT_NEAR(quantiser.decode(0b01U, scale), -5.3400704, 1e-6);
}

TEST(Gauss2Quantiser, EveryCodeIsItsLevel) {
  const Gauss2Quantiser quantiser;
  for (const float scale : {1.0F, 0.37F, 1e-30F}) {
    EXPECT_EQ(quantiser.decode(0b00U, scale), -0.4528F * scale);
    EXPECT_EQ(quantiser.decode(0b01U, scale), -1.5104F * scale);
    EXPECT_EQ(quantiser.decode(0b10U, scale), 0.4528F * scale);
    EXPECT_EQ(quantiser.decode(0b11U, scale), 1.5104F * scale);
    const float border = 0.9816F * scale;
    const float inside = std::nextafter(border, 0.0F);
    EXPECT_EQ(quantiser.encode(border, scale), 0b11U);  // the border itself is high
    EXPECT_EQ(quantiser.encode(inside, scale), 0b10U);
    EXPECT_EQ(quantiser.encode(-border, scale), 0b01U);
    EXPECT_EQ(quantiser.encode(-inside, scale), 0b00U);
    EXPECT_EQ(quantiser.encode(0.0F, scale), 0b10U);
    EXPECT_EQ(quantiser.encode(-0.0F, scale), 0b10U);
    const float inf = std::numeric_limits<float>::infinity();
    EXPECT_EQ(quantiser.encode(inf, scale), 0b11U);
    EXPECT_EQ(quantiser.encode(-inf, scale), 0b01U);
  }
}

TEST(Gauss2Quantiser, DecodesABlockOfZerosToZero) {
  const Gauss2Quantiser quantiser;
  EXPECT_EQ(quantiser.scale(0.0, 5), 0.0F);
  EXPECT_EQ(quantiser.scale(0.0, 0), 0.0F);
  for (const float h : {0.0F, -0.0F, 1e-42F}) {  // the last: of a block with next to nothing
    EXPECT_EQ(quantiser.decode(quantiser.encode(h, 0.0F), 0.0F), 0.0F);
  }
}

/// As of a sign code: nothing that is decoded from a block with a NaN is a number.
TEST(Gauss2Quantiser, ANaNSpoilsItsBlock) {
  const Gauss2Quantiser quantiser;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float scale = quantiser.scale(quantiser.accumulate(quantiser.accumulate(0.0, 1.0F), nan), 2);
  EXPECT_TRUE(std::isnan(scale));
  for (const float h : {1.0F, -1.0F, 0.0F, nan}) {
    EXPECT_TRUE(std::isnan(quantiser.decode(quantiser.encode(h, scale), scale)));
    EXPECT_LE(quantiser.encode(h, scale), 0b11U);
  }
}

}  // namespace
}  // namespace kadam
