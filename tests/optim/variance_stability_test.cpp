// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/frozen_variance.hpp>

#include <gtest/gtest.h>

namespace kadam {
namespace {

TEST(VarianceStability, HoldsAtTheFirstStableStepAndNotWhileTheVarianceGrowsOrFalls) {
  VarianceStability growing(0.9, 0);  // Delta = 10
  for (int t = 1; t <= 60; ++t) EXPECT_FALSE(growing.holds_at(t, t * t)) << t;
  VarianceStability falling(0.9, 0);
  for (int t = 1; t <= 60; ++t) EXPECT_FALSE(falling.holds_at(t, 1.0 / (t * t))) << t;
  VarianceStability constant(0.9, 0);
  for (int t = 1; t < 20; ++t) EXPECT_FALSE(constant.holds_at(t, 5.0)) << t;
  EXPECT_TRUE(constant.holds_at(20, 5.0));
}

TEST(VarianceStability, ComparesWithTheNormOneIntervalAgo) {
  VarianceStability stability(0.9, 0);
  for (int t = 1; t <= 25; ++t) (void)stability.holds_at(t, t == 16 ? 100.0 : 5.0);
  EXPECT_FALSE(stability.holds_at(26, 5.0));
  EXPECT_TRUE(stability.holds_at(27, 5.1));
}

TEST(VarianceStability, WaitsForTheEndOfTheLearningRatesWarmUp) {
  VarianceStability stability(0.9, 40);
  for (int t = 1; t < 40; ++t) EXPECT_FALSE(stability.holds_at(t, 5.0));
  EXPECT_TRUE(stability.holds_at(40, 5.0));
}

}  // namespace
}  // namespace kadam
