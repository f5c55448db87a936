// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <cmath>
#include <reference/make_reference.hpp>
#include <stdexcept>
#include <vector>

/// What the recorded trajectories do not show of the references, worked out on paper.
namespace kadam::reference {
namespace {

using Floats = std::vector<float>;

TEST(SparseMeanByHand, EachRankSendsItsLargest) {
  Ranks residual = {{4.0F, 1.0F, -4.0F, 0.0F, 3.0F}, {0.0F, -2.0F, 2.0F, 0.0F, 6.0F}};
  const SparseMean mean{.density = 0.25, .select_block = 4};
  EXPECT_EQ(mean(residual), (Floats{2.0F, -1.0F, 0.0F, 0.0F, 4.5F}));  // ties: the lower index
  EXPECT_EQ(residual[0], (Floats{0.0F, 1.0F, -4.0F, 0.0F, 0.0F}));
  EXPECT_EQ(residual[1], (Floats{0.0F, 0.0F, 2.0F, 0.0F, 0.0F}));
}

TEST(SparseMeanByHand, TheOwnerKeepsTheLargestOfTheMean) {
  Ranks residual = {{4.0F, 1.0F, -4.0F, 0.0F, 3.0F}, {0.0F, -2.0F, 2.0F, 0.0F, 6.0F}};
  const SparseMean mean{.density = 0.25, .select_block = 4, .by_owner = true};
  EXPECT_EQ(mean(residual), (Floats{2.0F, 0.0F, 0.0F, 0.0F, 4.5F}));
  EXPECT_EQ(residual[0], (Floats{0.0F, 1.0F, -4.0F, 0.0F, 0.0F}));
  EXPECT_EQ(residual[1], (Floats{0.0F, -2.0F, 2.0F, 0.0F, 0.0F}));  // -2 was sent, not kept
}

TEST(SparseMeanByHand, BlockZeroIsAllOrOnePerOwner) {
  SparseMean mean{.select_block = 0};
  ASSERT_EQ(mean.blocks_of(130, 4).size(), 1U);
  EXPECT_EQ(mean.blocks_of(130, 4)[0].end, 130);
  mean.by_owner = true;
  ASSERT_EQ(mean.blocks_of(130, 4).size(), 3U);  // the fourth chunk is empty
  EXPECT_EQ(mean.blocks_of(130, 4)[2].begin, 128);
  EXPECT_EQ(mean.blocks_of(130, 4)[2].end, 130);
}

TEST(SparseMeanByHand, HalfAnEntryIsRoundedUpAndOneAlwaysGoes) {
  const Floats values(10, 1.0F);
  EXPECT_EQ(largest_in(values, {0, 10}, 0.25).size(), 3U);
  EXPECT_EQ(largest_in(values, {0, 10}, 0.24).size(), 2U);
  EXPECT_EQ(largest_in(values, {0, 10}, 0.001).size(), 1U);
  EXPECT_EQ(largest_in(values, {4, 6}, 1.0), (std::vector<std::size_t>{4, 5}));
}

TEST(ZeroOnePolicyByHand, StepsSpreadOut) {
  const ZeroOnePolicy policy = {
      .variance_freeze_step = 10, .variance_kappa = 2, .sync_doubling_steps = 3, .sync_interval_max = 4};
  std::vector<std::int64_t> variance;
  std::vector<std::int64_t> sync;
  std::int64_t last_sync = 10;
  for (std::int64_t t = 1; t <= 30; ++t) {
    if (policy.is_variance_step(t)) variance.push_back(t);
    if (t <= 10 || !policy.is_sync_step(t, last_sync)) continue;
    sync.push_back(t);
    last_sync = t;
  }
  EXPECT_EQ(variance, (std::vector<std::int64_t>{1, 2, 3, 5, 7}));  // the next would be 11
  EXPECT_EQ(sync, (std::vector<std::int64_t>{11, 12, 13, 15, 19, 23, 27}));
}

TEST(LocalMomentsByHand, ADelayedMeanOfTheVarianceKeepsWhatCameInBetween) {
  const Hyper hyper = {.beta1 = 0.0, .beta2 = 0.5};
  LocalMoments moments(hyper, 0, 2, 1, 2, 1);
  for (int t = 1; t <= 2; ++t) (void)moments.directions({{2.0F}, {0.0F}});
  EXPECT_EQ(moments.v, (Ranks{{3.0F}, {0.0F}}));
  // As if both had been 1.5 at step 2: 1.5/2 + 4/2 and 1.5/2.
  (void)moments.directions({{2.0F}, {0.0F}});
  EXPECT_EQ(moments.v, (Ranks{{2.75F}, {0.75F}}));
}

TEST(DivisibleAdamByHand, FlushDeliversAllThatIsOwed) {
  const Options options = {{"lr", 0.1},           {"beta1", 0.0}, {"beta2", 0.0}, {"background_steps", 2.0},
                           {"select_block", 4.0}, {"eps", 0.0}};
  const Simulation simulation = make_reference("divisible_adam", options, {2, 3, {}});
  Ranks working = zeros(2, 3);
  for (int t = 1; t <= 3; ++t) simulation.step(working, {{1.0F, 1.0F, -1.0F}, {1.0F, -1.0F, -1.0F}});
  EXPECT_NE(working[0], working[1]);
  // The first two steps of entry 1 were sent (and cancel), the third is owed: it is looked ahead to.
  EXPECT_NEAR(working[0][1], -0.1F, 1e-6F);
  EXPECT_NEAR(working[1][1], 0.1F, 1e-6F);
  simulation.flush(working);
  EXPECT_EQ(working[0], working[1]);
  EXPECT_NEAR(working[0][0], -0.3F, 1e-6F);
  EXPECT_NEAR(working[0][1], 0.0F, 1e-6F);
  EXPECT_NEAR(working[0][2], 0.3F, 1e-6F);
}

TEST(OneRankByHand, NothingIsCompressed) {
  const Floats g = {1.0F, -2.0F, 0.5F};
  for (const char* name : {"efficient_adam", "loco", "locally_accumulated_adam", "divisible_adam"}) {
    const Simulation dense = make_reference("adam", {{"weight_decay", 0.1}}, {1, 3, {}});
    const Simulation simulation = make_reference(name, {{"weight_decay", 0.1}}, {1, 3, {}});
    Ranks expected = {{1.0F, 2.0F, 3.0F}};
    Ranks working = expected;
    for (int t = 1; t <= 5; ++t) {
      dense.step(expected, {g});
      simulation.step(working, {g});
    }
    EXPECT_EQ(working, expected) << name;
  }
}

TEST(OptionsByHand, NoOptionIsPassedOver) {
  EXPECT_THROW(make_reference("adam", {{"block", 64.0}}, {1, 3, {}}), std::invalid_argument);
  EXPECT_THROW(make_reference("nadam", {}, {1, 3, {}}), std::invalid_argument);
}

}  // namespace
}  // namespace kadam::reference
