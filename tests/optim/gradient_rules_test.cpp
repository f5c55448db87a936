// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <reference/simulated_ranks.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

/// What every optimizer does with gradients that are not finite, and what it says of those that are too long.
/// That it follows the rules of groups and of clipping, optimizers_test.cpp shows.
namespace kadam {
namespace {

constexpr std::int64_t d = 301;
constexpr std::int64_t warmup = 3;
const TensorLayout layout({{"a", 0, 100}, {"b.bias", 100, 120}, {"c", 120, d}});

OptionMap options_for(const std::string& name) {
  OptionMap options = test::options_that_agree(name, warmup);
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

  /// On all ranks, with these words.
  void expect_refused(const std::string& words, const OptionMap& options, const TensorLayout& tensors,
                      const std::vector<ParameterGroup>& groups) {
    try {
      (void)make_optimizer(GetParam(), options, tensors, communicator_, groups);
      ADD_FAILURE() << "was made; expected: " << words;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
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
  // The norm of what was averaged is known of shards alone: that of the exact mean but for what the code
  // loses.
  const bool is_averaged = optimizer_traits(GetParam()).shards;
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
    const bool exact = is_averaged || phase == "dense" || phase == "warm-up" || phase == "variance";
    const double norm = exact ? std::sqrt(squared) : std::sqrt(mean_square);
    const double scale = norm > 0.5 ? 0.5 / norm : 1.0;
    EXPECT_NEAR(result.gradient_scale, scale, is_averaged && size_ > 1 ? 0.05 * scale : 1e-6) << "step " << t;
  }
}

TEST_P(GradientRules, ATensorWithoutLearningRateStaysBitForBit) {
  OptionMap options = options_for(GetParam());
  options["weight_decay"] = 0.1;
  const OptimizerTraits& traits = optimizer_traits(GetParam());
  if (traits.local_moments && !traits.codes.empty()) options["code"] = "sign";  // of the step: it has no 0
  const auto got = run(GetParam(), options, 6, -1, {{.tensors = "*.bias", .lr_scale = 0.0}});
  const auto start = test::random_vector(d, 2);
  for (std::size_t i = 100; i < 120; ++i) EXPECT_EQ(got[i], start[i]) << i;
}

/// Gradients do not depend on parameters here: decay is all that can make a difference.
TEST_P(GradientRules, WeightsOfAGroupDecayWhereTheOptimizersDoNot) {
  OptionMap options = options_for(GetParam());
  options["weight_decay"] = 0.0;
  // A dense warm-up would make the difference before any sparse step.
  if (optimizer_traits(GetParam()).sparse) options["warmup_steps"] = 0;
  const auto without = run(GetParam(), options, 6, -1, {});
  const auto with = run(GetParam(), options, 6, -1, {{.tensors = "*.bias", .weight_decay = 0.3}});
  for (std::size_t i = 100; i < 120; ++i) {
    const bool has_something_to_lose = std::fabs(without[i]) > 0.01F;
    EXPECT_TRUE(with[i] != without[i] || !has_something_to_lose) << i;
  }
}

TEST_P(GradientRules, RanksWithDifferentOptionsAreToldAtConstruction) {
  OptionMap options = options_for(GetParam());
  if (rank_ == size_ - 1) options["beta2"] = 0.99;
  if (size_ == 1) {
    EXPECT_NO_THROW((void)make_optimizer(GetParam(), options, layout, communicator_));
  } else {
    expect_refused("disagree on option 'beta2' (0.999 and 0.99)", options, layout, {});
  }
}

TEST_P(GradientRules, RanksWithOtherTensorsOrGroupsAreToldAtConstruction) {
  if (size_ == 1) GTEST_SKIP() << "one rank agrees with itself";
  const bool differs = rank_ == size_ - 1;
  const auto expect_refused = [&](const char* words, const TensorLayout& tensors,
                                  const std::vector<ParameterGroup>& groups) {
    this->expect_refused(words, options_for(GetParam()), tensors, groups);
  };
  expect_refused("disagree on the tensor after 'b.bias' (c, ",
                 differs ? TensorLayout({{"a", 0, 100}, {"b.bias", 100, 120}, {"d", 120, d}}) : layout, {});
  expect_refused("disagree on the tensor after '' (a, 100 elements and a, 101 elements)",
                 differs ? TensorLayout({{"a", 0, 101}, {"b.bias", 101, 120}, {"c", 120, d}}) : layout, {});
  expect_refused(
      "disagree on the tensor after '' (a, 100 elements and a, 100 elements in 10 rows)",
      differs ? TensorLayout({{"a", 0, 100, {10, 10}}, {"b.bias", 100, 120}, {"c", 120, d}}) : layout, {});
  expect_refused("disagree on the tensor after 'b.bias' (c, ",
                 differs
                     ? TensorLayout({{"a", 0, 100}, {"b.bias", 100, 120}, {"c", 120, d - 1}, {"e", d - 1, d}})
                     : layout,
                 {});
  const ParameterGroup common = {.tensors = "a", .lr_scale = 0.5, .weight_decay = 0.1};
  std::vector<ParameterGroup> others(4, common);
  others[0].lr_scale = 0.25;
  others[1].weight_decay.reset();
  others[2].dense = true;
  others[3].tensors = "c";
  for (const ParameterGroup& other : others)
    expect_refused("disagree on the parameter groups (a:0.5:0.1", layout, {differs ? other : common});
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
