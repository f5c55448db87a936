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

}  // namespace
}  // namespace kadam
