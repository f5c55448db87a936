// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/random.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace kadam::workloads::random_test {
namespace {

TEST(Random, IsTheSameOnEveryMachine) {
  // Recorded once: checkpoints and published curves rest on these numbers.
  EXPECT_EQ(random_bits(0, 0), 12035550249420947055ULL);
  EXPECT_EQ(random_normal(1, 2), -1.8368988037109375);
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  double sum = 0.0;
  double square = 0.0;
  double fourth = 0.0;
  constexpr int n = 200'000;
  for (std::uint64_t i = 0; i < n; ++i) {
    const double x = random_normal(42, i);
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
    ASSERT_LT(std::abs(x), 6.0);
  }
  EXPECT_NEAR(sum / n, 0.0, 0.01);
  EXPECT_NEAR(square / n, 1.0, 0.015);
  EXPECT_NEAR(fourth / n, 2.9, 0.06);  // 3 - 6/5/12 for twelve uniforms
}

TEST(Random, BelowIsFairAndInRange) {
  int counts[3] = {};
  std::uint64_t counter = 0;
  for (int i = 0; i < 30'000; ++i) {
    ++counts[random_below(5, counter, 3)];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 10'000, 400);
  }
  EXPECT_EQ(random_below(5, counter, 1), 0U);
}

TEST(Random, NeighbouringSeedsShareNothing) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t counter = 0; counter < 100; ++counter) {
      seen.insert(random_bits(seed, counter));
    }
  }
  EXPECT_EQ(seen.size(), 10'000U);
}

}  // namespace
}  // namespace kadam::workloads::random_test
