// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <optim/optimizer_cases.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/// Learning rate, weight decay, clipping and factors of groups from outside: what is set is what the
/// optimizer might have been made with, from the next step on.
namespace kadam::settings_test {
namespace {

constexpr std::int64_t d = 700;
constexpr std::int64_t warmup = 4;
const TensorLayout layout({{"a", 0, 400, {20, 20}}, {"bias", 400, 420}, {"b", 420, d, {10, 28}}});

class SettingsTest : public testing::TestWithParam<std::string> {
 protected:
  using BeforeStep = std::function<void(Optimizer&, std::int64_t)>;

  [[nodiscard]] static OptionMap options(const OptionMap& more) {
    OptionMap all = test::options_with_warmup(GetParam(), warmup);
    all["lr"] = 0.02;
    if (has_option(GetParam(), "sync_interval")) all["sync_interval"] = 4;
    if (has_option(GetParam(), "sync_doubling_steps")) {
      all["sync_doubling_steps"] = 2;
      all["sync_interval_max"] = 4;
    }
    for (const auto& [name, value] : more) all[name] = value;
    return all;
  }

  [[nodiscard]] std::unique_ptr<Optimizer> make(const OptionMap& more,
                                                const std::vector<ParameterGroup>& groups = {}) const {
    return make_optimizer(GetParam(), options(more), layout, communicator_, groups);
  }

  /// Whether ranks take steps of their own, which wait for a synchronisation with the decays that they had.
  [[nodiscard]] static bool has_local_steps() { return GetParam() == "zero_one_adam" || agrees_in_rounds(); }
  [[nodiscard]] static bool agrees_in_rounds() { return has_option(GetParam(), "nonfinite"); }

  [[nodiscard]] Vector<float> start() const { return test::to_device(test::random_vector(d, 2)); }
  StepResult step(Optimizer& optimizer, const Vector<float>& x, std::int64_t t) const {
    const StepResult result = optimizer.step(exec_, x, test::to_device(test::random_gradient(d, rank_, t)));
    exec_.fence();
    return result;
  }

  /// The parameters after each step.
  [[nodiscard]] std::vector<std::vector<float>> run(Optimizer& optimizer,
                                                    const BeforeStep& before = {}) const {
    std::vector<std::vector<float>> after;
    const auto x = start();
    for (std::int64_t t = 1; t <= test::steps_per_case; ++t) {
      if (before) before(optimizer, t);
      (void)step(optimizer, x, t);
      after.push_back(test::to_host(x));
    }
    return after;
  }

  static void expect_equal(const std::vector<std::vector<float>>& got,
                           const std::vector<std::vector<float>>& wanted, std::size_t from = 0) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t k = from; k < got.size(); ++k)
      EXPECT_TRUE(test::bitwise_equal(got[k], wanted[k])) << "after step " << k + 1;
  }

  const ExecutionSpace exec_;
  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  const int rank_ = communicator_->rank();
  const int size_ = communicator_->size();
};

TEST_P(SettingsTest, ALearningRateForEachStepIsAListOfThem) {
  const std::vector<double> rates = test::rates_with_pauses({5, 14});
  const auto listed = run(*make({{"lr", rates}}));
  const auto set = run(*make({}), [&](Optimizer& optimizer, std::int64_t t) {
    optimizer.set({{"lr", rates[static_cast<std::size_t>(t - 1)]}});
  });
  expect_equal(set, listed);
}

TEST_P(SettingsTest, ARateThatIsSetReplacesTheSchedule) {
  const OptionMap cosine = {{"lr_schedule", "cosine"}, {"lr_warmup_steps", 3}, {"lr_total_steps", 20}};
  const auto optimizer = make(cosine);
  optimizer->set({{"lr", 0.004}});
  EXPECT_EQ(step(*optimizer, start(), 1).learning_rate, 0.004);
  EXPECT_EQ(optimizer->options().at("lr"), OptionValue(0.02)) << "options are those it was made with";
}

TEST_P(SettingsTest, BeforeTheFirstStepTheyAreOptions) {
  const std::vector<ParameterGroup> groups = {{.tensors = "bias", .weight_decay = 0.0, .dense = true},
                                              {.tensors = "b", .lr_scale = 2.0}};
  std::vector<ParameterGroup> other = groups;
  other[0].lr_scale = 0.5;
  other[0].weight_decay = {};
  other[1].weight_decay = 0.3;
  const auto made = run(*make({{"weight_decay", 0.05}, {"clip_norm", 15.0}}, other));
  const auto optimizer = make({}, groups);
  optimizer->set({{"weight_decay", 0.05}, {"clip_norm", 15.0}});
  optimizer->set_group("bias", 0.5, {});
  optimizer->set_group("b", 2.0, 0.3);
  expect_equal(run(*optimizer), made);
}

TEST_P(SettingsTest, WhatIsSetAndTakenBackLeavesNoTrace) {
  const std::vector<ParameterGroup> groups = {{.tensors = "b", .lr_scale = 2.0, .weight_decay = 0.1}};
  const OptionMap made = {{"weight_decay", 0.05}, {"clip_norm", 15.0}};
  const auto plain = run(*make(made, groups));
  const auto back = run(*make(made, groups), [](Optimizer& optimizer, std::int64_t t) {
    if (t % 3 != 0) return;
    optimizer.set({{"weight_decay", 0.4}, {"clip_norm", 0.0}});
    optimizer.set_group("b", 0.1, {});
    optimizer.set({{"weight_decay", 0.05}, {"clip_norm", 15.0}});
    optimizer.set_group("b", 2.0, 0.1);
  });
  expect_equal(back, plain);
}

TEST_P(SettingsTest, ChangeWhatFollows) {
  const std::vector<ParameterGroup> groups = {{.tensors = "b", .lr_scale = 2.0, .weight_decay = 0.1}};
  const OptionMap made = {{"weight_decay", 0.05}};
  const auto plain = run(*make(made, groups));
  const std::size_t at = 10;
  const auto expect_other = [&](const char* what, const BeforeStep& change) {
    const auto other = run(*make(made, groups), [&](Optimizer& optimizer, std::int64_t t) {
      if (t == static_cast<std::int64_t>(at)) change(optimizer, t);
    });
    for (std::size_t k = 0; k + 1 < at; ++k) EXPECT_TRUE(test::bitwise_equal(other[k], plain[k])) << what;
    EXPECT_FALSE(test::bitwise_equal(other.back(), plain.back())) << what;
  };
  expect_other("weight decay", [](Optimizer& optimizer, auto) { optimizer.set({{"weight_decay", 0.5}}); });
  expect_other("clipping", [](Optimizer& optimizer, auto) { optimizer.set({{"clip_norm", 0.1}}); });
  expect_other("a group's rate", [](Optimizer& optimizer, auto) { optimizer.set_group("b", 0.5, 0.1); });
  expect_other("a group's decay", [](Optimizer& optimizer, auto) { optimizer.set_group("b", 2.0, 0.6); });
}

/// Steps that a rank has taken alone were made with the factors of their time.
TEST_P(SettingsTest, FactorsOfGroupsWaitForTheSynchronisation) {
  if (!has_local_steps()) GTEST_SKIP() << "no steps wait for a synchronisation";
  const std::vector<ParameterGroup> groups = {{.tensors = "b", .lr_scale = 2.0, .weight_decay = 0.1}};
  const auto change = [](Optimizer& optimizer) { optimizer.set_group("b", 0.5, 0.6); };
  // Synchronisations are at steps 8, 12, 16 and 20: two steps into an interval, and after its end.
  const auto x = start();
  const auto first = make({}, groups);
  for (std::int64_t t = 1; t <= test::steps_per_case; ++t) {
    const bool synchronised = step(*first, x, t).synchronised;
    if (t >= 8) {
      EXPECT_EQ(synchronised, t % 4 == 0) << t;
    }
  }
  const auto changed_before = [&](std::int64_t changed) {
    return run(*make({}, groups), [&, changed](Optimizer& optimizer, std::int64_t t) {
      if (t == changed) change(optimizer);
    });
  };
  const auto after_the_interval = changed_before(13);
  expect_equal(changed_before(11), after_the_interval);
  EXPECT_FALSE(test::bitwise_equal(changed_before(17).back(), after_the_interval.back()));
}

/// A weight decay that still holds counts beside a learning rate that is set.
TEST_P(SettingsTest, ARateThatIsTooLargeForTheDecayThatHoldsIsRefused) {
  if (!agrees_in_rounds()) GTEST_SKIP() << "its steps decay one by one";
  const auto optimizer = make({{"weight_decay", 10.0}});
  const auto x = start();
  (void)step(*optimizer, x, 1);
  const OptionMap values = {{"lr", 0.2}, {"weight_decay", 0.1}};
  EXPECT_THROW(optimizer->set(values), std::invalid_argument);
  EXPECT_EQ(optimizer->settings(), Settings{});
  for (std::int64_t t = 2; t <= 4; ++t) (void)step(*optimizer, x, t);
  optimizer->set(values);
  EXPECT_EQ(step(*optimizer, x, 5).learning_rate, 0.2);
}

TEST_P(SettingsTest, RanksThatDifferAreToldBothValues) {
  if (size_ == 1) GTEST_SKIP() << "one rank agrees with itself";
  const auto optimizer = make({});
  const auto x = start();
  const auto before = test::to_host(x);
  optimizer->set({{"lr", rank_ == size_ - 1 ? 0.25 : 0.125}});
  optimizer->raise(1U << static_cast<unsigned>(rank_));
  for (std::int64_t t = 1; agrees_in_rounds() && t < 4; ++t) (void)step(*optimizer, x, t);
  try {
    (void)step(*optimizer, x, agrees_in_rounds() ? 4 : 1);
    FAIL() << "not refused";
  } catch (const std::invalid_argument& error) {
    const std::string words = error.what();
    EXPECT_NE(words.find("lr is 0.125 on rank 0, 0.25 on rank " + std::to_string(size_ - 1)),
              std::string::npos)
        << words;
  }
  if (agrees_in_rounds()) return;
  EXPECT_EQ(optimizer->steps_taken(), 0);
  EXPECT_TRUE(test::bitwise_equal(test::to_host(x), before));
  optimizer->set({{"lr", 0.125}});
  const StepResult result = step(*optimizer, x, 1);
  EXPECT_EQ(result.step, 1);
  EXPECT_EQ(result.raised, (1U << static_cast<unsigned>(size_)) - 1U) << "of the step that was refused";
  const std::vector<float> own = test::to_host(x);
  EXPECT_TRUE(test::bitwise_equal(own, test::from_rank_zero(own)));
}

/// Gradients that have left already do not meet those of the next step.
TEST_P(SettingsTest, RanksThatDifferMayHaveAnnouncedTheirGradients) {
  if (size_ == 1 || agrees_in_rounds()) GTEST_SKIP() << "no exchange of a step is refused";
  const auto optimizer = make({});
  const auto plain = make({{"lr", 0.125}});
  const auto x = start();
  const auto y = start();
  const auto gradient = test::to_device(test::random_gradient(d, rank_, 1));
  optimizer->set({{"lr", rank_ == 0 ? 0.25 : 0.125}});
  optimizer->gradient_ready(exec_, gradient, {0, d});
  EXPECT_THROW((void)optimizer->step(exec_, x, gradient), std::invalid_argument);
  optimizer->set({{"lr", 0.125}});
  for (std::int64_t t = 2; t <= 4; ++t) {
    (void)step(*optimizer, x, t);
    (void)step(*plain, y, t);
  }
  EXPECT_TRUE(test::bitwise_equal(test::to_host(x), test::to_host(y)));
}

/// What they have set is the same in the end, and their steps were not.
TEST_P(SettingsTest, RanksThatSetTheSameBeforeDifferentStepsAreTold) {
  if (size_ == 1 || !agrees_in_rounds()) GTEST_SKIP() << "a step between rounds is told at once";
  const auto optimizer = make({});
  const auto x = start();
  for (std::int64_t t = 1; t <= 3; ++t) {
    if (t == (rank_ == 0 ? 2 : 3)) optimizer->set({{"lr", 0.125}});
    (void)step(*optimizer, x, t);
  }
  for (int trial = 0; trial < 2; ++trial) {
    try {
      (void)step(*optimizer, x, 4);
      FAIL() << "not refused";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("before different steps of a round"), std::string::npos)
          << error.what();
    }
  }
}

TEST_P(SettingsTest, RanksThatStartApartAreToldAtTheirFirstRound) {
  if (size_ == 1 || !agrees_in_rounds()) GTEST_SKIP() << "the first step tells";
  const auto optimizer = make({});
  const auto x = test::to_device(test::random_vector(d, rank_ == 0 ? 2 : 3));
  for (std::int64_t t = 1; t <= 3; ++t) (void)step(*optimizer, x, t);
  try {
    (void)step(*optimizer, x, 4);
    FAIL() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("started from different parameters"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(optimizer->settings(), Settings{});
}

TEST_P(SettingsTest, RefusesWhatCannotBeSetAndSetsNothing) {
  const std::vector<ParameterGroup> groups = {{.tensors = "b"}, {.tensors = "bias", .lr_scale = 0.0}};
  const auto optimizer = make({}, groups);
  const auto expect_refused = [&](const char* word, const std::function<void()>& call) {
    try {
      call();
      FAIL() << word << " was not refused";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
    EXPECT_EQ(optimizer->settings(), Settings{});
  };
  expect_refused("beta1", [&] { optimizer->set({{"beta1", 0.5}}); });
  expect_refused("lr_rate", [&] { optimizer->set({{"clip_norm", 1.0}, {"lr_rate", 0.5}}); });
  expect_refused("lr", [&] { optimizer->set({{"lr", -1.0}}); });
  expect_refused("lr", [&] { optimizer->set({{"lr", std::numeric_limits<double>::quiet_NaN()}}); });
  expect_refused("weight_decay", [&] { optimizer->set({{"clip_norm", 1.0}, {"weight_decay", "much"}}); });
  expect_refused("b, bias", [&] { optimizer->set_group("c", 1.0, {}); });
  expect_refused("lr_scale", [&] { optimizer->set_group("b", -1.0, {}); });
  expect_refused("stop moving", [&] { optimizer->set_group("b", 0.0, {}); });
  expect_refused("start moving", [&] { optimizer->set_group("bias", 1.0, {}); });
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, SettingsTest, testing::ValuesIn(optimizer_names()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace kadam::settings_test
