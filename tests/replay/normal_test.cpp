// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/optimizer_names.hpp>
#include <replay/normal.hpp>

#include <gtest/gtest.h>

namespace kadam::replay::normal_test {
namespace {

TEST(NormalRanges, AreKnownOfEveryOptimizerThatCompresses) {
  for (const std::string& name : optimizer_names()) {
    const NormalRanges* const normal = normal_ranges(name);
    EXPECT_EQ(normal == nullptr, optimizer_traits(name).dense) << name;
    if (normal == nullptr) continue;
    for (std::size_t k = 0; k < figure_count; ++k) {
      const Range& range = normal->ranges[k];
      EXPECT_LE(range.least, range.most) << name << " " << figure_names[k];
      const auto figure = static_cast<Figure>(k);
      EXPECT_FALSE(is_far(figure, range.least, range)) << name << " " << figure_names[k];
      EXPECT_FALSE(is_far(figure, range.most, range)) << name << " " << figure_names[k];
    }
  }
  EXPECT_EQ(normal_ranges("of_my_own"), nullptr);
}

TEST(NormalRanges, BeginWhereTheirCommentSays) {
  EXPECT_FALSE(is_far(Figure::distance, 1.0, {0.1, 0.5}));
  EXPECT_TRUE(is_far(Figure::distance, 1.01, {0.1, 0.5}));
  EXPECT_FALSE(is_far(Figure::distance, 0.0, {0.1, 0.5}));
  EXPECT_TRUE(is_far(Figure::length, 0.39, {0.8, 1.5}));
  EXPECT_FALSE(is_far(Figure::length, 0.41, {0.8, 1.5}));
  EXPECT_TRUE(is_far(Figure::length, 3.1, {0.8, 1.5}));
  EXPECT_TRUE(is_far(Figure::signs, 0.64, {0.8, 0.9}));
  EXPECT_FALSE(is_far(Figure::signs, 0.66, {0.8, 0.9}));
  EXPECT_FALSE(is_far(Figure::apart, 1e-7, {0.0, 0.0}));
}

}  // namespace
}  // namespace kadam::replay::normal_test
