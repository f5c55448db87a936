// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <reference/make_reference.hpp>
#include <support/optimizers_that.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

/// What the recorded trajectories do not show of the references, worked out on paper.
namespace kadam::reference {
namespace {

using Floats = std::vector<float>;

TEST(SparseMeanByHand, EachRankSendsItsLargest) {
  Ranks residual = {{4.0F, 1.0F, -4.0F, 0.0F, 3.0F}, {0.0F, -2.0F, 2.0F, 0.0F, 6.0F}};
  SparseMean mean{.density = 0.25, .select_block = 4};
  EXPECT_EQ(mean(residual), (Floats{2.0F, -1.0F, 0.0F, 0.0F, 4.5F}));  // ties: the lower index
  EXPECT_EQ(residual[0], (Floats{0.0F, 1.0F, -4.0F, 0.0F, 0.0F}));
  EXPECT_EQ(residual[1], (Floats{0.0F, 0.0F, 2.0F, 0.0F, 0.0F}));
}

TEST(SparseMeanByHand, TheOwnerKeepsTheLargestOfTheMean) {
  Ranks residual = {{4.0F, 1.0F, -4.0F, 0.0F, 3.0F}, {0.0F, -2.0F, 2.0F, 0.0F, 6.0F}};
  SparseMean mean{.density = 0.25, .select_block = 4, .by_owner = true};
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
  Simulation simulation = make_reference("divisible_adam", options, {2, 3, {}});
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

/// Nothing is compressed: what has the moments of Adam, of own gradients or in shards, is Adam.
TEST(OneRankByHand, NothingIsCompressed) {
  const Floats g = {1.0F, -2.0F, 0.5F};
  const auto are_adam = [](const OptimizerTraits& traits) { return traits.local_moments || traits.shards; };
  for (const std::string& name : test::optimizers_that(are_adam)) {
    Simulation dense = make_reference("adam", {{"weight_decay", 0.1}}, {1, 3, {}});
    Options options = {{"weight_decay", 0.1}};
    // A round at each step, and a variance that is no product.
    if (has_option(name, "sync_interval")) {
      options["sync_interval"] = 1.0;
      options["variance"] = "own";
    }
    Simulation simulation = make_reference(name, options, {1, 3, {}});
    Ranks expected = {{1.0F, 2.0F, 3.0F}};
    Ranks working = expected;
    for (int t = 1; t <= 5; ++t) {
      dense.step(expected, {g});
      simulation.step(working, {g});
    }
    EXPECT_EQ(working, expected) << name;
  }
}

TEST(RulesByHand, TheFirstGroupThatFitsATensorCountsAlone) {
  std::vector<Tensor> tensors = {{0, 5, "a.bias"}, {5, 6, "abias"}, {6, 16, "a.weight"}};
  apply_groups({{"*.bias", 2.0, 0.1}, {"a*", 3.0, {}, true}}, 2, tensors);
  EXPECT_EQ(tensors[0].lr_scale, 2.0);
  EXPECT_EQ(tensors[0].weight_decay, 0.1);
  EXPECT_FALSE(tensors[0].dense);
  EXPECT_EQ(tensors[1].lr_scale, 3.0);  // the point is a point
  EXPECT_EQ(tensors[2].weight_decay, std::nullopt);
  EXPECT_TRUE(tensors[2].dense);
  apply_groups({{"*", 1.0}}, 2, tensors = {{0, 1, "small"}, {1, 3, "large"}});
  EXPECT_TRUE(tensors[0].dense);
  EXPECT_FALSE(tensors[1].dense);
}

TEST(RulesByHand, AGroupHasItsOwnLearningRateAndDecay) {
  const World world = {1, 3, {{0, 1, "a"}, {1, 2, "b"}, {2, 3, "c"}}, 1, {{"a", 0.5, 0.2}, {"c", 2.0}}};
  Simulation simulation = make_reference("adam", {{"lr", 0.1}, {"weight_decay", 1.0}}, world);
  Ranks x = {{10.0F, 10.0F, 10.0F}};
  simulation.step(x, {{3.0F, -3.0F, 3.0F}});  // the first step is lr sign(g)
  EXPECT_NEAR(x[0][0], 10.0 * (1.0 - 0.05 * 0.2) - 0.05, 1e-5);
  EXPECT_NEAR(x[0][1], 10.0 * (1.0 - 0.1) + 0.1, 1e-5);
  EXPECT_NEAR(x[0][2], 10.0 * (1.0 - 0.2) - 0.2, 1e-5);
}

TEST(RulesByHand, ATensorKeptDenseGetsTheExactMeanOnSeveralRanks) {
  const Options options = {{"lr", 0.1}, {"beta1", 0.0}, {"beta2", 0.0}, {"warmup_steps", 1.0}};
  const World world = {2, 3, {{0, 2, "a"}, {2, 3, "b"}}, 1, {{"b", 1.0, {}, true}}};
  Simulation simulation = make_reference("onebit_adam", options, world);
  Ranks x = zeros(2, 3);
  // The dense step leaves a variance of 1. After it, steps of 0.1: (1, 1 | 1) and (1, 0 | 0). The second rank
  // sends 0.1 / sqrt(2) twice; the mean of the two is 0.0854 twice.
  simulation.step(x, {{1.0F, 1.0F, 1.0F}, {1.0F, 1.0F, 1.0F}});
  simulation.step(x, {{1.0F, 1.0F, 1.0F}, {1.0F, 0.0F, 0.0F}});
  EXPECT_NEAR(x[0][0], -0.1 - 0.05 - 0.05 / std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(x[0][1], -0.1 - 0.05 - 0.05 / std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(x[0][2], -0.1 - 0.05, 1e-6);
}

TEST(RulesByHand, ClippingIsByTheNormOfTheMeanOrByTheMeanSquareOfTheNorms) {
  const Ranks gradients = {{3.0F, 0.0F}, {0.0F, 4.0F}};
  const Hyper hyper = {.clip_norm = 1.0};
  const Floats mean = gradient_mean(hyper, gradients);  // (1.5, 2) / 2.5
  EXPECT_NEAR(mean[0], 0.6F, 1e-6F);
  EXPECT_NEAR(mean[1], 0.8F, 1e-6F);
  const Ranks own = own_gradients(hyper, gradients);  // 25/2 is the mean square
  EXPECT_NEAR(own[0][0], 3.0F / std::sqrt(12.5F), 1e-6F);
  EXPECT_NEAR(own[1][1], 4.0F / std::sqrt(12.5F), 1e-6F);
  EXPECT_EQ(gradient_mean({.clip_norm = 2.5}, gradients), dense_mean(gradients));
}

TEST(UndecidedByHand, SignsNearZeroHalvesAndTiesAreFound) {
  const std::vector<bool> all(4, true);
  Undecided found;
  (void)quantise_block({.name = "sign"}, {1.0F, -1e-7F, 0.0F, 1e-3F}, all, &found);
  EXPECT_EQ(found, Undecided{1});  // an exact 0 is the same everywhere
  found.clear();
  (void)quantise_block({.name = "uniform4"}, {7.0F, 2.5000002F, 2.6F, -0.5F}, all, &found);
  EXPECT_EQ(found, (Undecided{1, 3}));
  found.clear();
  (void)largest_in({4.0F, -3.0F, 3.0000002F, 1.0F}, {0, 4}, 0.5, &found);
  EXPECT_EQ(found, (Undecided{2, 1}));
  found.clear();
  (void)largest_in({4.0F, 0.0F, 0.0F, 0.0F}, {0, 4}, 0.5, &found);
  EXPECT_EQ(found, Undecided{});
}

TEST(ReferencesByHand, AreThereForEveryOptimizer) {
  for (const std::string& name : optimizer_names()) {
    EXPECT_NO_THROW((void)make_reference(name, {}, {1, 3, {}})) << name;
  }
}

TEST(OptionsByHand, NoOptionIsPassedOver) {
  EXPECT_THROW(make_reference("adam", {{"block", 64.0}}, {1, 3, {}}), std::invalid_argument);
  EXPECT_THROW(make_reference("nadam", {}, {1, 3, {}}), std::invalid_argument);
}

}  // namespace
}  // namespace kadam::reference
