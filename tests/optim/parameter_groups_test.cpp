// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/options/parameter_groups.hpp>

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

TEST(ParameterGroups, NeighboursThatDifferInOneValueStayApart) {
  const TensorLayout layout({{"a", 0, 10}, {"b", 10, 20}, {"c", 20, 30}});
  const std::vector<ParameterGroup> groups = {{.tensors = "b", .weight_decay = 0.2},
                                              {.tensors = "c", .lr_scale = 2.0, .weight_decay = 0.2}};
  const ResolvedGroups resolved = resolve_groups(layout, groups, 0.1, 0);
  ASSERT_EQ(resolved.segments.size(), 3U);
  EXPECT_DOUBLE_EQ(resolved.segments[0].weight_decay, 0.1);
  EXPECT_DOUBLE_EQ(resolved.segments[1].weight_decay, 0.2);
  EXPECT_DOUBLE_EQ(resolved.segments[1].lr_scale, 1.0);
  EXPECT_DOUBLE_EQ(resolved.segments[2].lr_scale, 2.0);
}

TEST(ParameterGroups, TheFirstGroupThatMatchesCounts) {
  const std::vector<ParameterGroup> groups = {{.tensors = "*.bias", .lr_scale = 0.5},
                                              {.tensors = "a.*", .lr_scale = 3.0, .weight_decay = 0.4}};
  const ResolvedGroups resolved =
      resolve_groups(TensorLayout({{"a.bias", 0, 10}, {"a.weight", 10, 20}}), groups, 0.1, 0);
  ASSERT_EQ(resolved.segments.size(), 2U);
  EXPECT_DOUBLE_EQ(resolved.segments[0].lr_scale, 0.5);
  EXPECT_DOUBLE_EQ(resolved.segments[0].weight_decay, 0.1) << "a group without one has the common one";
  EXPECT_DOUBLE_EQ(resolved.segments[1].lr_scale, 3.0);
  EXPECT_DOUBLE_EQ(resolved.segments[1].weight_decay, 0.4);
}

TEST(ParameterGroups, TinyTensorsCanBeKeptDense) {
  const TensorLayout layout({{"w", 0, 100}, {"b", 100, 110}, {"none", 110, 110}});
  const ResolvedGroups resolved = resolve_groups(layout, {}, 0.0, 50);
  EXPECT_EQ(resolved.segments.size(), 1U);
  EXPECT_EQ(resolved.dense, (std::vector<ElementRange>{{100, 110}}));
  // Fewer elements than it says, not as many.
  EXPECT_TRUE(resolve_groups(layout, {}, 0.0, 10).dense.empty());
  EXPECT_EQ(resolve_groups(layout, {}, 0.0, 11).dense.size(), 1U);
}

TEST(ParameterGroups, APatternThatMatchesNothingIsRefused) {
  EXPECT_THROW((void)resolve_groups(TensorLayout({{"w", 0, 1}}), {{.tensors = "v*"}}, 0.0, 0),
               std::invalid_argument);
}

}  // namespace
}  // namespace kadam
