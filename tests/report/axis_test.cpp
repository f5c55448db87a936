// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/axis.hpp>
#include <report/curves.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace kadam::test {
namespace {

using report::Axis;

void expect_sound(const Axis& axis, double smallest, double largest) {
  EXPECT_LE(axis.from, smallest + 1e-9 * std::abs(smallest));
  EXPECT_GE(axis.to, largest - 1e-9 * std::abs(largest));
  EXPECT_GE(axis.ticks.size(), 2U) << smallest << " " << largest;
  EXPECT_LE(axis.ticks.size(), 9U) << smallest << " " << largest;
  EXPECT_TRUE(std::is_sorted(axis.ticks.begin(), axis.ticks.end()));
}

TEST(Axis, NamesAFewRoundNumbers) {
  const Axis axis = report::linear_axis(0.0, 400.0, report::step_text);
  const std::vector<std::pair<double, std::string>> expected = {
      {0, "0"}, {100, "100"}, {200, "200"}, {300, "300"}, {400, "400"}};
  EXPECT_EQ(axis.ticks, expected);
  for (const auto& [a, b] : {std::pair{0.0, 1e-7}, {0.13, 0.17}, {-3.0, 8.0}, {5.0, 5.0}, {1e300, 2e300}})
    expect_sound(report::linear_axis(a, b, report::plain_text), a, b);
}

TEST(Axis, ChoosesTicksForAnyNumberOfDecades) {
  for (const double largest : {1.5, 4.0, 30.0, 700.0, 1e5, 1e12, 1e300})
    expect_sound(report::logarithmic_axis(0.9, largest, report::plain_text), 0.9, largest);
}

TEST(Axis, IsLogarithmicWhereThatHelps) {
  EXPECT_TRUE(report::fitting_axis(0.2, 2.3, report::plain_text).logarithmic);
  EXPECT_FALSE(report::fitting_axis(1.5, 5.5, report::plain_text).logarithmic);
  EXPECT_FALSE(report::fitting_axis(0.0, 2.3, report::plain_text).logarithmic);
}

TEST(Axis, EndsWithoutTheTicksBeyond) {
  Axis axis = report::linear_axis(0.0, 13.0, report::plain_text);
  report::end_at(axis, 13.0);
  EXPECT_EQ(axis.to, 13.0);
  EXPECT_EQ(axis.ticks.back().second, "10");
}

TEST(Axis, WritesStepsShortly) {
  EXPECT_EQ(report::step_text(400), "400");
  EXPECT_EQ(report::step_text(12500), "12.5k");
  EXPECT_EQ(report::step_text(2e6), "2M");
}

}  // namespace
}  // namespace kadam::test
