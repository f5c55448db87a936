// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/parameter_groups.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace kadam {
namespace {

TEST(ParameterGroups, PatternsMatchWholeNames) {
  EXPECT_TRUE(matches("*.bias", "block0.linear.bias"));
  EXPECT_TRUE(matches("block*.norm.*", "block12.norm.gain"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_FALSE(matches("*.bias", "bias"));
  EXPECT_FALSE(matches("bias", "bias2"));
}

TEST(ParameterGroups, NeighboursWithEqualValuesAreJoined) {
  const TensorLayout layout(
      {{"a.weight", 0, 10}, {"a.bias", 10, 12}, {"b.bias", 12, 14}, {"b.weight", 14, 20}});
  const std::vector<ParameterGroup> groups = {
      {.tensors = "*.bias", .lr_scale = 2.0, .weight_decay = 0.0, .dense = true}};
  const ResolvedGroups resolved = resolve_groups(layout, groups, 0.1, 0);
  ASSERT_EQ(resolved.segments.size(), 3U);
  EXPECT_EQ(resolved.segments[1].range, (ElementRange{10, 14}));
  EXPECT_DOUBLE_EQ(resolved.segments[1].weight_decay, 0.0);
  EXPECT_DOUBLE_EQ(resolved.segments[1].lr_scale, 2.0);
  EXPECT_DOUBLE_EQ(resolved.segments[2].weight_decay, 0.1);
  EXPECT_EQ(resolved.dense, (std::vector<ElementRange>{{10, 12}, {12, 14}}));
  EXPECT_EQ(resolved.tensors.size(), 4U);
}

TEST(ParameterGroups, TinyTensorsCanBeKeptDense) {
  const TensorLayout layout({{"w", 0, 100}, {"b", 100, 110}, {"none", 110, 110}});
  const ResolvedGroups resolved = resolve_groups(layout, {}, 0.0, 50);
  EXPECT_EQ(resolved.segments.size(), 1U);
  EXPECT_EQ(resolved.dense, (std::vector<ElementRange>{{100, 110}}));
}

TEST(ParameterGroups, APatternThatMatchesNothingIsRefused) {
  EXPECT_THROW((void)resolve_groups(TensorLayout({{"w", 0, 1}}), {{.tensors = "v*"}}, 0.0, 0),
               std::invalid_argument);
}

}  // namespace
}  // namespace kadam
