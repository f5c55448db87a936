// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/quantiser.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace kadam {
namespace {

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
  values.insert(values.end(), {1e6F, -1e6F, 3e38F, -3e38F, inf, -inf});
  for (const float step : {1.0F, 0.37F, 3e-5F, 1e-38F, std::numeric_limits<float>::denorm_min()}) {
    for (const float h : values) ASSERT_EQ(decoded(h, step), nearest<Bits>(h, step)) << h << " / " << step;
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
  for (const float beyond : {449.0F, 1e30F, inf}) EXPECT_EQ(quantiser.encode(beyond, 1.0F), 126U);
  EXPECT_EQ(quantiser.encode(-inf, 1.0F), 126U | 0x80U);
}

TEST(Float8Quantiser, HandSized) {
  const Float8Quantiser quantiser;
  EXPECT_EQ(quantiser.scale(448.0, 2), 1.0F);
  EXPECT_EQ(quantiser.decode(quantiser.encode(0.3F, 1.0F), 1.0F), 0.3125F);
  EXPECT_EQ(quantiser.decode(quantiser.encode(0.0F, 0.0F), 0.0F), 0.0F);    // of a block without anything
  EXPECT_EQ(quantiser.decode(quantiser.encode(1e-42F, 0.0F), 0.0F), 0.0F);  // of one with next to nothing
}

}  // namespace
}  // namespace kadam
