// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <reference/simulated_ranks.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/optimizers_that.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

/// What holds of a warm-up whose mean gradient has a code.
namespace kadam::warmup_code_test {
namespace {

constexpr std::int64_t d = 1500;
constexpr std::int64_t warmup = 6;
const TensorLayout layout({{"a", 0, 500}, {"bias", 500, 540}, {"b", 540, d}});

OptionMap options_with(const std::string& code) {
  return {{"warmup_steps", warmup}, {"warmup_code", code}, {"block", 64}, {"lr", 0.01}};
}

class WarmupCode : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  const std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  const ExecutionSpace exec_;
  const Vector<float> x_ = test::to_device(test::random_vector(d, 2));
  OptionMap options_ = options_with(std::get<1>(GetParam()));

  [[nodiscard]] std::unique_ptr<Optimizer> make() const {
    return make_optimizer(std::get<0>(GetParam()), options_, layout, communicator_,
                          {{.tensors = "bias", .dense = true}});
  }
  [[nodiscard]] std::vector<std::vector<float>> gradients(std::int64_t t) const {
    std::vector<std::vector<float>> of_ranks;
    for (int r = 0; r < communicator_->size(); ++r) of_ranks.push_back(test::random_gradient(d, r, t));
    return of_ranks;
  }
  StepResult step(Optimizer& optimizer, const std::vector<std::vector<float>>& of_ranks) const {
    const StepResult result =
        optimizer.step(exec_, x_, test::to_device(of_ranks[static_cast<std::size_t>(communicator_->rank())]));
    exec_.fence();
    return result;
  }
  /// (1/n) sum of the ranks' errors + the owners'.
  [[nodiscard]] std::vector<double> owed(Optimizer& optimizer) const {
    std::vector<double> sum(d, 0.0);
    const StateFields state = optimizer.state_to_save(exec_, x_);
    for (const StateVector& field : state.vectors()) {
      const bool is_error = field.name == "worker_error" || field.name == "server_error";
      if (!is_error || field.if_missing == StateVector::IfMissing::add) continue;
      const std::vector<float> values = test::to_host(field.values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        sum[static_cast<std::size_t>(field.placement.range.begin) + i] +=
            static_cast<double>(values[i]) / field.placement.copies;
      }
    }
    return test::sum_over_ranks(sum);
  }
};

/// With beta1 = 0 the momentum is the mean gradient: all of them together, and what is owed, are all that
/// there was to deliver.
TEST_P(WarmupCode, LosesNothingUntilItForgetsWhatIsOwed) {
  options_["beta1"] = 0.0;
  const auto optimizer = make();
  std::vector<double> wanted(d, 0.0);
  std::vector<double> got(d, 0.0);
  bool owes = false;
  for (std::int64_t t = 1; t < warmup; ++t) {
    const auto of_ranks = gradients(t);
    EXPECT_STREQ(step(*optimizer, of_ranks).phase, "warm-up");
    const std::vector<float> mean = reference::dense_mean(of_ranks);
    const std::vector<float> m = test::to_host(optimizer->state_to_save(exec_, x_).vector("m"));
    const std::vector<double> rest = owed(*optimizer);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      wanted[i] += static_cast<double>(mean[i]);
      got[i] += static_cast<double>(m[i]);
      ASSERT_NEAR(got[i] + rest[i], wanted[i], 1e-4) << "step " << t << ", element " << i;
      owes = owes || rest[i] != 0.0;
    }
    for (std::size_t i = 500; i < 540; ++i) ASSERT_EQ(rest[i], 0.0) << "kept dense";
  }
  EXPECT_EQ(owes, communicator_->size() > 1);
  (void)step(*optimizer, gradients(warmup));
  EXPECT_EQ(owed(*optimizer), std::vector<double>(d, 0.0)) << "frozen";
  EXPECT_STREQ(step(*optimizer, gradients(warmup + 1)).phase, "compressed");
}

TEST_P(WarmupCode, WhatHasNoGradientStaysBitForBit) {
  const auto optimizer = make();
  const std::vector<float> start = test::to_host(x_);
  for (std::int64_t t = 1; t <= warmup + 4; ++t) {
    std::vector<float> g(d);
    for (std::size_t i = 0; i < g.size(); ++i)
      g[i] = i < 90 ? 0.0F : std::copysign(1.0F + 0.1F * static_cast<float>(t % 3), start[i]);
    (void)step(*optimizer, std::vector<std::vector<float>>(4, g));
  }
  EXPECT_EQ(optimizer->inactive_elements(), 90);
  const std::vector<float> end = test::to_host(x_);
  for (std::size_t i = 0; i < end.size(); ++i) EXPECT_EQ(end[i] == start[i], i < 90) << i;
}

TEST_P(WarmupCode, ClipsByTheRootMeanSquareOfTheNorms) {
  options_["clip_norm"] = 0.5;
  const auto optimizer = make();
  for (std::int64_t t = 1; t <= warmup + 2; ++t) {
    const auto of_ranks = gradients(t);
    double mean_square = 0.0;
    for (const auto& g : of_ranks) {
      for (const float value : g)
        mean_square += static_cast<double>(value) * static_cast<double>(value) / communicator_->size();
    }
    EXPECT_NEAR(step(*optimizer, of_ranks).gradient_scale, 0.5 / std::sqrt(mean_square), 1e-9) << t;
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllOptimizers, WarmupCode,
    testing::Combine(testing::ValuesIn(test::optimizers_that_take(options_with("uniform8"))),
                     testing::ValuesIn(code_names(CodesThat::have_zero))),
    [](const auto& test_info) { return std::get<0>(test_info.param) + "_" + std::get<1>(test_info.param); });

}  // namespace
}  // namespace kadam::warmup_code_test
