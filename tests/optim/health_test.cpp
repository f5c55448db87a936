// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/optimizers_that.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

/// Health figures of gradients for which they can be worked out by hand.
namespace kadam::health_test {
namespace {

constexpr std::int64_t d = 1024;
const TensorLayout layout({{"a", 0, d}});

class HealthTest : public testing::Test {
 protected:
  const std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  const ExecutionSpace exec_;
  const Vector<float> x_ = test::to_device(std::vector<float>(d, 1.0F));

  [[nodiscard]] std::unique_ptr<Optimizer> make(const std::string& name, const OptionMap& options) const {
    return make_optimizer(name, options, layout, communicator_);
  }
  /// even elements `even`, odd ones `odd`
  void step(Optimizer& optimizer, float even, float odd) const {
    std::vector<float> g(d, even);
    for (std::size_t i = 1; i < g.size(); i += 2) g[i] = odd;
    optimizer.step(exec_, x_, test::to_device(g));
  }
};

TEST_F(HealthTest, TheErrorRatioIsWhatIsOwedOverWhatWasDelivered) {
  const auto optimizer = make("onebit_adam", {{"beta1", 0.0}, {"warmup_steps", 1}});
  step(*optimizer, 3.0F, 1.0F);
  EXPECT_FALSE(optimizer->health(exec_).error_ratio.has_value());
  step(*optimizer, 3.0F, 1.0F);
  const auto ratio = optimizer->health(exec_).error_ratio;
  // y = (3, 1, 3, 1, ...) is sent as its root mean square r = sqrt(5); 3 - r and 1 - r are owed.
  const double r = std::sqrt(5.0);
  const double owed = std::sqrt(((3.0 - r) * (3.0 - r) + (1.0 - r) * (1.0 - r)) / 2.0);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_NEAR(*ratio, communicator_->size() > 1 ? owed / r : 0.0, 1e-6);
}

TEST_F(HealthTest, TheErrorRatioOfAWarmUpIsThatOfItsCode) {
  for (const std::string name : {"onebit_adam", "apmsqueeze", "onebit_lamb"}) {
    const auto optimizer = make(name, {{"warmup_steps", 3}, {"warmup_code", "uniform2"}});
    step(*optimizer, 3.0F, 1.0F);
    // (3, 1, 3, 1, ...) is sent as (3, 0); (0, 1) is owed.
    const double wanted = communicator_->size() > 1 ? 1.0 / 3.0 : 0.0;
    EXPECT_NEAR(optimizer->health(exec_).error_ratio.value_or(-1.0), wanted, 1e-6) << name;
  }
}

TEST_F(HealthTest, TheErrorRatioLeavesInactiveCoordinatesOut) {
  if (communicator_->size() == 1) GTEST_SKIP() << "one rank owes nothing";
  const auto optimizer = make("onebit_adam", {{"beta1", 0.0}, {"warmup_steps", 1}});
  // (3, 1, 0, 0): what is owed and what is delivered is that of (3, 1).
  std::vector<float> g(d, 0.0F);
  for (std::size_t i = 0; i < g.size(); i += 4) {
    g[i] = 3.0F;
    g[i + 1] = 1.0F;
  }
  for (int t = 0; t < 2; ++t) optimizer->step(exec_, x_, test::to_device(g));
  EXPECT_EQ(optimizer->inactive_elements(), d / 2);
  const double r = std::sqrt(5.0);
  const double owed = std::sqrt(((3.0 - r) * (3.0 - r) + (1.0 - r) * (1.0 - r)) / 2.0);
  EXPECT_NEAR(optimizer->health(exec_).error_ratio.value_or(-1.0), owed / r, 1e-6);
}

/// Nodes owe what each of their ranks would owe alone, where all have the same gradient: ranks of a node
/// share it out.
TEST_F(HealthTest, TheErrorRatioIsTheSameInTwoLevels) {
  if (communicator_->size() != 4) GTEST_SKIP() << "two nodes of two ranks";
  const auto in_two_levels = make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(Staging::automatic, 2));
  const double r = std::sqrt(5.0);
  const double owed = std::sqrt(((3.0 - r) * (3.0 - r) + (1.0 - r) * (1.0 - r)) / 2.0);
  const OptionMap onebit = {{"beta1", 0.0}, {"warmup_steps", 1}};
  // LoCo with 2 bits says (3, 0) of (3, 1), and keeps a fifth of what is missing.
  const OptionMap loco = {{"bits", 2}, {"error_beta", 0.8}};
  for (const auto& communicator : {communicator_, in_two_levels}) {
    const auto adam = make_optimizer("onebit_adam", onebit, layout, communicator);
    for (int t = 0; t < 2; ++t) step(*adam, 3.0F, 1.0F);
    EXPECT_NEAR(adam->health(exec_).error_ratio.value_or(-1.0), owed / r, 1e-6);
    const auto low_bit = make_optimizer("loco", loco, layout, communicator);
    step(*low_bit, 3.0F, 1.0F);
    EXPECT_NEAR(low_bit->health(exec_).error_ratio.value_or(-1.0), 0.2 / 3.0, 1e-6);
  }
}

/// Of the unit matrix rank 1 delivers p p^T for some p of length 1: 31 of 32 directions are owed.
TEST_F(HealthTest, TheErrorRatioOfALowRankMean) {
  const auto optimizer = make_optimizer("low_rank_muon", {{"rank", 1}, {"factor_bits", 32}},
                                        TensorLayout({{"unit", 0, d, {32, 32}}}), communicator_);
  std::vector<float> g(d, 0.0F);
  for (std::size_t i = 0; i < g.size(); i += 33) g[i] = 1.0F;
  optimizer->step(exec_, x_, test::to_device(g));
  EXPECT_NEAR(optimizer->health(exec_).error_ratio.value_or(-1.0),
              communicator_->size() > 1 ? std::sqrt(31.0) : 0.0, 1e-5);
}

TEST_F(HealthTest, TheVarianceDriftIsTheRatioOfMeanSquares) {
  const auto optimizer = make("apmsqueeze", {{"warmup_steps", 3}});
  for (int t = 0; t < 3; ++t) step(*optimizer, 1.0F, 1.0F);
  EXPECT_FALSE(optimizer->health(exec_).variance_drift.has_value());
  for (int t = 0; t < 2; ++t) step(*optimizer, 3.0F, 3.0F);
  ASSERT_TRUE(optimizer->health(exec_).variance_drift.has_value());
  EXPECT_NEAR(*optimizer->health(exec_).variance_drift, 9.0, 1e-6);
  const auto said = warnings(optimizer->health(exec_));
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].kind, "variance_drift");
  EXPECT_NE(said[0].text.find("9 times its value"), std::string::npos) << said[0].text;
}

TEST_F(HealthTest, TheVarianceSpreadComparesTheRanksOwnVariances) {
  for (const std::string& name : test::optimizers_that(&OptimizerTraits::local_moments)) {
    const auto optimizer = make(name, {});
    const auto own = static_cast<float>(1 + communicator_->rank());
    for (int t = 0; t < 3; ++t) step(*optimizer, own, own);
    const auto n = static_cast<double>(communicator_->size());
    ASSERT_TRUE(optimizer->health(exec_).variance_spread.has_value()) << name;
    EXPECT_NEAR(*optimizer->health(exec_).variance_spread, n * n, 1e-4) << name;
  }
}

/// One tensor of each half; on one rank a momentum is exact, on several its block's root mean square.
TEST_F(HealthTest, TheLargestStepIsThatOfTheSmallestVariance) {
  const TensorLayout halves({{"a", 0, d / 2}, {"none", d / 2, d / 2}, {"b", d / 2, d}});
  std::vector<float> g(d, 1.0F);
  g[d / 2] = 0.25F;
  const double r = std::sqrt((static_cast<double>(d - 1) + 0.0625) / static_cast<double>(d));
  for (const bool precondition : {false, true}) {
    const auto optimizer = make_optimizer(
        "onebit_adam",
        {{"beta1", 0.0}, {"warmup_steps", 2}, {"block", 0}, {"eps", 1e-30}, {"precondition", precondition}},
        halves, communicator_);
    optimizer->step(exec_, x_, test::to_device(g));
    EXPECT_FALSE(optimizer->health(exec_).largest_step.has_value()) << "v is not frozen";
    for (int t = 2; t <= 3; ++t) optimizer->step(exec_, x_, test::to_device(g));
    const auto got = optimizer->health(exec_).largest_step;
    ASSERT_TRUE(got.has_value());
    // m / sqrt(v): 1 where both are those of the element, r / 0.25 where m is the block's.
    const int n = communicator_->size();
    if (n == 1 || precondition) {
      EXPECT_NEAR(got->over_learning_rate, 1.0, 1e-6);
    } else if (n == 2) {
      EXPECT_NEAR(got->over_learning_rate, 4.0 * std::sqrt((511.0 + 0.0625) / 512.0), 1e-5);
    } else {
      EXPECT_NEAR(got->over_learning_rate, 4.0 * r, 0.02);
    }
    if (n > 1 && !precondition) {
      EXPECT_EQ(got->tensor, 2);
      EXPECT_EQ(got->tensor_name, "b");
    }
  }
  // 0/1 Adam divides by a variance that is corrected still. Its rate falls to a hundredth: of what was owed
  // before, a step is no longer than it was.
  const auto zero_one = make_optimizer(
      "zero_one_adam",
      {{"beta1", 0.0}, {"variance_freeze_step", 2}, {"block", 0}, {"lr", {0.01, 0.01, 0.01, 0.0001}}}, halves,
      communicator_);
  const std::vector<float> ones(d, 1.0F);
  for (int t = 1; t <= 3; ++t) zero_one->step(exec_, x_, test::to_device(ones));
  const auto got = zero_one->health(exec_).largest_step;
  ASSERT_TRUE(got.has_value());
  EXPECT_NEAR(got->over_learning_rate, 1.0, 1e-5);
  EXPECT_EQ(got->tensor_name, "a");
  zero_one->step(exec_, x_, test::to_device(ones));
  EXPECT_NEAR(zero_one->health(exec_).largest_step.value_or(LargestStep{}).over_learning_rate, 0.01, 1e-6);
}

/// A matrix counts with all its elements, not with its factors: 6 of 1 everywhere, 2 of (1 + rank)^2.
TEST_F(HealthTest, TheVarianceSpreadOfFactorsIsThatOfTheVariance) {
  const TensorLayout matrix_and_bias({{"w", 0, 6, {2, 3}}, {"b", 6, 8}});
  const auto own = static_cast<float>(1 + communicator_->rank());
  const auto x = test::to_device(std::vector<float>(8, 1.0F));
  const auto g = test::to_device(std::vector<float>{1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, own, own});
  const auto n = static_cast<double>(communicator_->size());
  for (const std::string& name : test::optimizers_that(&OptimizerTraits::local_moments)) {
    // Spectral matrices have no variance.
    if (!has_option(name, "variance") || has_option(name, "matrices")) continue;
    const auto optimizer = make_optimizer(name, {{"variance", "factored"}}, matrix_and_bias, communicator_);
    for (int t = 0; t < 3; ++t) optimizer->step(exec_, x, g);
    EXPECT_NEAR(optimizer->health(exec_).variance_spread.value_or(0.0), (6.0 + 2.0 * n * n) / 8.0, 1e-4)
        << name;
  }
}

TEST_F(HealthTest, InactiveCoordinatesAndSkippedStepsAreCounted) {
  const auto optimizer = make("onebit_adam", {{"warmup_steps", 2}});
  for (int t = 0; t < 3; ++t) step(*optimizer, 1.0F, 0.0F);
  step(*optimizer, std::nanf(""), 0.0F);
  const Health health = optimizer->health(exec_);
  EXPECT_EQ(health.inactive_fraction, 0.5);
  EXPECT_EQ(health.skipped_steps, 1);
}

}  // namespace
}  // namespace kadam::health_test
