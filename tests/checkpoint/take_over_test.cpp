// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/optimizers_that.hpp>
#include <support/random_vectors.hpp>
#include <support/shared_folder.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <cmath>

/// One algorithm goes on where another stopped, if what that one held is all it needs.
namespace kadam::take_over_test {
namespace {

constexpr std::int64_t d = 1500;
const TensorLayout layout({{"a", 0, 500}, {"b", 500, d}});

class TakeOver : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::unique_ptr<Optimizer> make(const std::string& name, std::int64_t warmup) const {
    return make_optimizer(name, test::options_with_warmup(name, warmup), layout, communicator_);
  }
  /// Towards |x - 1|^2 = 0, with what makes each batch another.
  /// Gives the phase of each step.
  std::vector<std::string> train(Optimizer& optimizer, const Vector<float>& x, std::int64_t first,
                                 std::int64_t last) const {
    std::vector<std::string> phases;
    for (std::int64_t t = first; t <= last; ++t) {
      std::vector<float> g = host(x);
      const std::vector<float> noise = test::random_gradient(d, communicator_->rank(), t);
      for (std::size_t i = 0; i < g.size(); ++i) g[i] += 0.02F * std::tanh(noise[i]) - 1.0F;
      phases.emplace_back(optimizer.step(exec_, x, test::to_device(g)).phase);
    }
    exec_.fence();
    return phases;
  }
  [[nodiscard]] std::vector<float> host(const Vector<float>& x) const {
    exec_.fence();
    return test::to_host(x);
  }

  const ExecutionSpace exec_;
  const std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  test::SharedFolder folder_;
};

TEST_P(TakeOver, GoesOnFromDenseAdam) {
  const auto x = test::to_device(std::vector<float>(d, 0.0F));
  const auto adam = make("adam", 0);
  (void)train(*adam, x, 1, 9);
  (void)checkpoint::save(exec_, *adam, x, folder_.path());
  for (const std::int64_t warmup : {4, 9, 12}) {
    SCOPED_TRACE(testing::Message() << "warm-up of " << warmup);
    const auto other = make(GetParam(), warmup);
    const auto y = test::to_device(std::vector<float>(d, 1e30F));
    ASSERT_TRUE(checkpoint::restore_newest(exec_, *other, y, folder_.path()).has_value());
    EXPECT_EQ(other->steps_taken(), 9);
    EXPECT_TRUE(test::bitwise_equal(host(y), host(x)));
    (void)train(*other, y, 10, 20);
    other->flush(exec_, y);
    const std::vector<float> got = host(y);
    EXPECT_TRUE(test::bitwise_equal(got, test::from_rank_zero(got)));
    // Eleven steps of about the learning rate, 0.001, each (apmsqueeze does not correct its moments: up to
    // ten times as long so early): on they go, and none explodes.
    const std::vector<float> before = host(x);
    double way = 0.0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], before[i], 0.2) << i;
      way += static_cast<double>(got[i] - before[i]);
    }
    EXPECT_GT(way, 0.0);
  }
}

/// A schedule that is not over goes on where it would be, had the run been its own from the start.
TEST_P(TakeOver, HasThePhasesOfARunOfItsOwn) {
  const std::int64_t warmup = 12;
  const auto x = test::to_device(std::vector<float>(d, 0.0F));
  const auto own = make(GetParam(), warmup);
  (void)train(*own, x, 1, 9);
  const std::vector<std::string> expected = train(*own, x, 10, 20);
  Kokkos::deep_copy(exec_, x, 0.0F);
  const auto adam = make("adam", 0);
  (void)train(*adam, x, 1, 9);
  (void)checkpoint::save(exec_, *adam, x, folder_.path());
  const auto other = make(GetParam(), warmup);
  ASSERT_TRUE(checkpoint::restore_newest(exec_, *other, x, folder_.path()).has_value());
  EXPECT_EQ(train(*other, x, 10, 20), expected);
}

TEST_P(TakeOver, HasItsOwnOptionsAndNotWhatWasSet) {
  const auto x = test::to_device(std::vector<float>(d, 0.0F));
  const auto adam = make("adam", 0);
  adam->set({{"lr", 0.002}, {"clip_norm", 5.0}});
  (void)train(*adam, x, 1, 3);
  (void)checkpoint::save(exec_, *adam, x, folder_.path());
  const auto other = make(GetParam(), 4);
  other->set({{"weight_decay", 0.1}});
  ASSERT_TRUE(checkpoint::restore_newest(exec_, *other, x, folder_.path()).has_value());
  EXPECT_EQ(other->settings(), GetParam() == "adam" ? adam->settings() : Settings{});
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, TakeOver, testing::ValuesIn(optimizer_names()),
                         [](const auto& test_info) { return test_info.param; });

class TakeOverRefused : public TakeOver {
 protected:
  void expect_refused(Optimizer& saved, const Vector<float>& x) {
    (void)checkpoint::save(exec_, saved, x, folder_.path());
    const auto adam = make("adam", 0);
    try {
      (void)checkpoint::restore_newest(exec_, *adam, x, folder_.path());
      FAIL() << "it was taken over";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("the state of " + saved.name() + " is not dense"),
                std::string::npos)
          << error.what();
    }
  }
};

TEST_P(TakeOverRefused, WhatOwesSomethingIsNotTakenOver) {
  const auto x = test::to_device(test::random_vector(d, 2));
  const auto compressed = make(GetParam(), 4);
  (void)train(*compressed, x, 1, 9);
  expect_refused(*compressed, x);
}

using CodedWarmUpRefused = TakeOverRefused;
const OptionMap coded_warm_up = {{"warmup_steps", 12}, {"warmup_code", "uniform8"}};

TEST_P(CodedWarmUpRefused, AsItOwesSomething) {
  const auto x = test::to_device(test::random_vector(d, 2));
  const auto coded = make_optimizer(GetParam(), coded_warm_up, layout, communicator_);
  EXPECT_EQ(train(*coded, x, 1, 9).back(), "warm-up");
  expect_refused(*coded, x);
}

INSTANTIATE_TEST_SUITE_P(Compressed, TakeOverRefused,
                         testing::ValuesIn(test::optimizers_that([](const auto& is) { return !is.dense; })),
                         [](const auto& test_info) { return test_info.param; });

INSTANTIATE_TEST_SUITE_P(Compressed, CodedWarmUpRefused,
                         testing::ValuesIn(test::optimizers_that_take(coded_warm_up)),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace kadam::take_over_test
