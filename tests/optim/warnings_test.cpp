// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/health.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace kadam {
namespace {

std::vector<std::string> kinds(const Health& health) {
  std::vector<std::string> all;
  for (const Warning& warning : warnings(health)) {
    EXPECT_FALSE(warning.text.empty());
    all.push_back(warning.kind);
  }
  return all;
}

using Kinds = std::vector<std::string>;

TEST(Warnings, ThereAreNoneWithoutFiguresAndNoneAtTheirLimits) {
  EXPECT_EQ(kinds({}), Kinds{});
  Health health;
  health.error_ratio = largest_error_ratio;
  health.variance_drift = largest_variance_drift;
  health.variance_spread = largest_variance_spread;
  health.inactive_fraction = largest_inactive_fraction;
  health.largest_step = {largest_largest_step, 0, "w"};
  EXPECT_EQ(kinds(health), Kinds{});
  health.variance_drift = smallest_variance_drift;
  EXPECT_EQ(kinds(health), Kinds{});
}

TEST(Warnings, EachFigureBeyondItsLimitHasItsOwn) {
  Health health;
  health.error_ratio = 1.01 * largest_error_ratio;
  EXPECT_EQ(kinds(health), Kinds{"error_ratio"});
  for (const double no_number :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    health.error_ratio = no_number;
    EXPECT_EQ(kinds(health), Kinds{"error_ratio"});
  }
  health = {};
  health.variance_drift = 1.01 * largest_variance_drift;
  ASSERT_EQ(kinds(health), Kinds{"variance_drift"});
  EXPECT_NE(warnings(health)[0].text.find("too long"), std::string::npos);
  health.variance_drift = 0.99 * smallest_variance_drift;
  ASSERT_EQ(kinds(health), Kinds{"variance_drift"});
  EXPECT_NE(warnings(health)[0].text.find("too short"), std::string::npos);
  health = {};
  health.variance_spread = 1.01 * largest_variance_spread;
  EXPECT_EQ(kinds(health), Kinds{"variance_spread"});
  health = {};
  health.largest_step = {3141.59, 1, "attention.key.bias"};
  ASSERT_EQ(kinds(health), Kinds{"largest_step"});
  EXPECT_NE(warnings(health)[0].text.find("3.14e+03 times the learning rate, in tensor 'attention.key.bias'"),
            std::string::npos)
      << warnings(health)[0].text;
  for (const double no_number :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    health.largest_step = {no_number, 0, "w"};
    EXPECT_EQ(kinds(health), Kinds{"largest_step"});
  }
  health = {};
  health.inactive_fraction = 0.51;
  ASSERT_EQ(kinds(health), Kinds{"inactive_fraction"});
  EXPECT_NE(warnings(health)[0].text.find("51 %"), std::string::npos);
}

TEST(Warnings, AllThatIsWrongIsSaid) {
  Health health;
  health.error_ratio = 1e6;
  health.variance_drift = 100.0;
  health.variance_spread = 10.0;
  health.largest_step = {1e3, 0, "w"};
  health.inactive_fraction = 0.9;
  EXPECT_EQ(kinds(health),
            (Kinds{"error_ratio", "variance_drift", "variance_spread", "largest_step", "inactive_fraction"}));
}

}  // namespace
}  // namespace kadam
