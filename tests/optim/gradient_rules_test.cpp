// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <reference/optimizers.hpp>
#include <set>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

/// What every optimizer does with gradients that are not finite, too long, or of tensors with rules of their
/// own.
namespace kadam {
namespace {

constexpr std::int64_t d = 301;
constexpr std::int64_t warmup = 3;
const TensorLayout layout({{"a", 0, 100}, {"b.bias", 100, 120}, {"c", 120, d}});

OptionMap options_for(const std::string& name) {
  OptionMap options = test::options_with_warmup(name, warmup);
  options["lr"] = 0.01;
  return options;
}

class GradientRules : public testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  const int rank_ = communicator_->rank();
  const int size_ = communicator_->size();

  std::vector<float> run(const std::string& name, const OptionMap& options, std::int64_t steps,
                         std::int64_t poisoned_after, const std::vector<ParameterGroup>& groups = {}) {
    const auto optimizer = make_optimizer(name, options, layout, communicator_, groups);
    const auto parameters = test::to_device(test::random_vector(d, 2));
    for (std::int64_t t = 1; t <= steps; ++t) {
      const StepResult before =
          optimizer->step(ExecutionSpace{}, parameters, test::to_device(test::random_gradient(d, rank_, t)));
      if (t == poisoned_after) {
        auto bad = test::random_gradient(d, rank_, 99);
        if (rank_ == size_ - 1) bad[17] = std::numeric_limits<float>::quiet_NaN();
        const StepResult result = optimizer->step(ExecutionSpace{}, parameters, test::to_device(bad));
        EXPECT_TRUE(result.skipped);
        EXPECT_EQ(result.step, t);
        EXPECT_EQ(result.synchronised, before.synchronised);
        EXPECT_EQ(optimizer->steps_skipped(), 1);
      }
    }
    Kokkos::fence();
    return test::to_host(parameters);
  }
};

TEST_P(GradientRules, AStepWithANanOnOneRankLeavesNoTraceOnAny) {
  for (const std::int64_t poisoned_after : {std::int64_t{1}, warmup, warmup + 2}) {
    const auto clean = run(GetParam(), options_for(GetParam()), 8, -1);
    const auto poisoned = run(GetParam(), options_for(GetParam()), 8, poisoned_after);
    EXPECT_TRUE(test::bitwise_equal(clean, poisoned)) << "after step " << poisoned_after;
  }
}

TEST_P(GradientRules, ClippingFollowsItsWrittenRule) {
  if (GetParam() == "loco") GTEST_SKIP() << "clips by the norm of what was averaged, known to it alone";
  const auto optimizer = [&](double clip) {
    OptionMap options = options_for(GetParam());
    options["clip_norm"] = clip;
    return make_optimizer(GetParam(), options, layout, communicator_);
  };
  const auto clipped = optimizer(0.5);
  const auto parameters = test::to_device(test::random_vector(d, 2));
  for (std::int64_t t = 1; t <= 6; ++t) {
    std::vector<std::vector<float>> all;
    double mean_square = 0.0;
    for (int r = 0; r < size_; ++r) {
      all.push_back(test::random_gradient(d, r, t));
      for (const float value : all.back())
        mean_square += static_cast<double>(value) * static_cast<double>(value) / size_;
    }
    double squared = 0.0;
    for (const float value : reference::dense_mean(all))
      squared += static_cast<double>(value) * static_cast<double>(value);
    const StepResult result =
        clipped->step(ExecutionSpace{}, parameters, test::to_device(all[static_cast<std::size_t>(rank_)]));
    EXPECT_NEAR(result.gradient_norm, std::sqrt(mean_square), 1e-9 * std::sqrt(mean_square));
    // Dense phases know the norm of the mean gradient; compressed ones the root mean square of the ranks'
    // norms.
    const std::string phase = result.phase;
    const bool exact = phase == "dense" || phase == "warm-up" || phase == "variance";
    const double norm = exact ? std::sqrt(squared) : std::sqrt(mean_square);
    EXPECT_NEAR(result.gradient_scale, norm > 0.5 ? 0.5 / norm : 1.0, 1e-6) << "step " << t;
  }
}

TEST_P(GradientRules, AClippedGradientActsAsTheScaledOneInAdam) {
  if (GetParam() != "adam") GTEST_SKIP() << "one dense algorithm is enough: the factor is the same code";
  OptionMap options = options_for("adam");
  options["clip_norm"] = 0.25;
  const auto optimizer = make_optimizer("adam", options, layout, communicator_);
  reference::Adam expected({.lr = 0.01}, d);
  std::vector<float> x = test::random_vector(d, 2);
  const auto parameters = test::to_device(x);
  for (std::int64_t t = 1; t <= 4; ++t) {
    std::vector<std::vector<float>> all;
    for (int r = 0; r < size_; ++r) all.push_back(test::random_gradient(d, r, t));
    const StepResult result =
        optimizer->step(ExecutionSpace{}, parameters, test::to_device(all[static_cast<std::size_t>(rank_)]));
    std::vector<float> mean = reference::dense_mean(all);
    for (float& value : mean) value *= static_cast<float>(result.gradient_scale);
    expected.step(x, {mean});
  }
  Kokkos::fence();
  const auto got = test::to_host(parameters);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], x[i], 1e-5F * (1.0F + std::fabs(x[i])));
}

TEST_P(GradientRules, GroupsHaveTheirOwnLearningRateAndDecay) {
  OptionMap options = options_for(GetParam());
  options["weight_decay"] = 0.1;
  if (GetParam() == "efficient_adam") options["bits"] = std::int64_t{1};
  const std::vector<ParameterGroup> frozen = {{.tensors = "*.bias", .lr_scale = 0.0}};
  const auto start = test::random_vector(d, 2);
  const auto got = run(GetParam(), options, 6, -1, frozen);
  for (std::size_t i = 100; i < 120; ++i) EXPECT_EQ(got[i], start[i]) << i;
  // Where the learning rate is inside what is compressed, the rest shares scales with the group.
  const std::set<std::string> outside = {"adam", "lamb", "onebit_adam", "apmsqueeze", "loco"};
  if (!outside.contains(GetParam())) return;
  const auto plain = run(GetParam(), options, 6, -1);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (i >= 100 && i < 120) continue;
    EXPECT_EQ(got[i], plain[i]) << i;
  }
}

TEST_P(GradientRules, TensorsKeptDenseGetTheExactMean) {
  if (GetParam() != "onebit_adam") GTEST_SKIP() << "for algorithms that compress";
  // The same tensor alone, kept dense altogether, is 1-bit Adam with an exact mean.
  const std::vector<ParameterGroup> dense = {{.tensors = "b.bias", .dense = true}};
  const auto got = run("onebit_adam", options_for("onebit_adam"), 8, -1, dense);
  const auto everything =
      run("onebit_adam", options_for("onebit_adam"), 8, -1, {{.tensors = "*", .dense = true}});
  for (std::size_t i = 100; i < 120; ++i) EXPECT_EQ(got[i], everything[i]) << i;
  EXPECT_TRUE(test::bitwise_equal(got, test::from_rank_zero(got)));
  // And the rest is compressed: with more than one rank it differs from the exact mean.
  bool differs = false;
  for (std::size_t i = 120; i < got.size(); ++i) differs = differs || got[i] != everything[i];
  EXPECT_EQ(differs, size_ > 1);
}

TEST_P(GradientRules, RanksWithDifferentOptionsAreToldAtConstruction) {
  OptionMap options = options_for(GetParam());
  if (rank_ == size_ - 1) options["beta2"] = 0.99;
  if (size_ == 1) {
    EXPECT_NO_THROW((void)make_optimizer(GetParam(), options, layout, communicator_));
  } else {
    EXPECT_THROW((void)make_optimizer(GetParam(), options, layout, communicator_), std::invalid_argument);
  }
}

TEST_P(GradientRules, RanksThatCutTheirMessagesDifferentlyAreToldAtConstruction) {
  const std::size_t piece_bytes = rank_ == size_ - 1 ? 4096 : 8192;
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD, {{Staging::automatic, piece_bytes}});
  if (size_ == 1) {
    EXPECT_NO_THROW((void)make_optimizer(GetParam(), options_for(GetParam()), layout, communicator));
  } else {
    EXPECT_THROW((void)make_optimizer(GetParam(), options_for(GetParam()), layout, communicator),
                 std::invalid_argument);
  }
}

TEST_P(GradientRules, AnOptionThatOneRankRefusesIsRefusedByAll) {
  OptionMap options = options_for(GetParam());
  const bool wrong_here = rank_ == size_ - 1;
  if (wrong_here) options["beta1"] = 7.0;
  if (wrong_here) {
    EXPECT_THROW((void)make_optimizer(GetParam(), options, layout, communicator_), std::invalid_argument);
  } else {
    EXPECT_THROW((void)make_optimizer(GetParam(), options, layout, communicator_), PeerFailure);
  }
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, GradientRules, testing::ValuesIn(optimizer_names()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace kadam
