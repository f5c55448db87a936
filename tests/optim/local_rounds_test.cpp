// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// What ranks that agree in rounds alone do, and tell each other.
namespace kadam::local_rounds_test {
namespace {

constexpr std::int64_t interval = 4;

TensorLayout layout() {
  TensorLayoutBuilder builder;
  builder.add("w", {30, 20});
  builder.add("b", 60);
  return builder.build();
}

class LocalRoundsTest : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Optimizer> make(const OptionMap& more = {}) {
    OptionMap options = more;
    options.try_emplace("sync_interval", interval);
    options.try_emplace("lr", 0.01);
    return make_optimizer(GetParam(), options, layout(), communicator_);
  }
  [[nodiscard]] std::vector<float> gradient(std::int64_t t) const {
    return test::random_gradient(layout().elements(), communicator_->rank(), t);
  }
  StepResult step(Optimizer& optimizer, const std::vector<float>& gradient) {
    const StepResult result = optimizer.step(ExecutionSpace{}, x_, test::to_device(gradient));
    Kokkos::fence();
    return result;
  }
  [[nodiscard]] bool is_last() const { return communicator_->rank() == communicator_->size() - 1; }

  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  Vector<float> x_ = test::to_device(test::random_vector(layout().elements(), 2));
};

TEST_P(LocalRoundsTest, AStepBetweenRoundsSendsNotAByte) {
  const auto optimizer = make();
  for (std::int64_t t = 1; t <= 3 * interval; ++t) {
    const std::uint64_t before = communicator_->bytes_sent().total();
    const StepResult result = step(*optimizer, gradient(t));
    EXPECT_EQ(result.synchronised, t % interval == 0);
    const bool has_others = communicator_->size() > 1;
    EXPECT_EQ(communicator_->bytes_sent().total() > before, result.synchronised && has_others) << t;
  }
}

TEST_P(LocalRoundsTest, ARankThatSeesANanStandsStillForAStep) {
  const auto optimizer = make({{"code", "none"}});
  for (std::int64_t t = 1; t <= 2 * interval; ++t) {
    auto g = gradient(t);
    const bool is_bad = (t == 2 || t == interval) && is_last();
    if (is_bad) g[7] = std::numeric_limits<float>::quiet_NaN();
    const auto before = test::to_host(x_);
    const StepResult result = step(*optimizer, g);
    EXPECT_FALSE(result.skipped);
    EXPECT_EQ(result.step, t);
    if (t == 2) {
      EXPECT_EQ(test::bitwise_equal(test::to_host(x_), before), is_bad);
    }
    EXPECT_EQ(result.skipped_alone, t == interval ? 2 : 0);
  }
  EXPECT_EQ(optimizer->steps_skipped(), 2);
  for (const float value : test::to_host(x_)) ASSERT_TRUE(std::isfinite(value));
  EXPECT_TRUE(test::bitwise_equal(test::to_host(x_), test::from_rank_zero(test::to_host(x_))));
}

TEST_P(LocalRoundsTest, AnInfiniteRateMovesNobody) {
  const auto start = test::to_host(x_);
  const auto optimizer = make({{"lr", std::vector<double>(interval, 1e300)}});
  for (std::int64_t t = 1; t <= interval; ++t) {
    const StepResult result = step(*optimizer, gradient(t));
    EXPECT_EQ(result.skipped_alone, t == interval ? 1 : 0);
  }
  EXPECT_TRUE(test::bitwise_equal(test::to_host(x_), start));
}

TEST_P(LocalRoundsTest, RaisedBitsArriveAtTheRound) {
  const auto optimizer = make();
  for (std::int64_t t = 1; t <= 2 * interval; ++t) {
    if (t == 2 && is_last()) optimizer->raise(4);
    if (t == 3 && communicator_->rank() == 0) optimizer->raise(1);
    EXPECT_EQ(step(*optimizer, gradient(t)).raised, t == interval ? 5U : 0U) << t;
  }
}

TEST_P(LocalRoundsTest, ADelayedRoundTravelsBetweenItsSteps) {
  const auto optimizer = make({{"round_delay", 2}});
  // In the end a round is on its way: the optimizer is destroyed with it.
  for (std::int64_t t = 1; t <= 3 * interval + 1; ++t) {
    const std::uint64_t before = communicator_->bytes_sent().total();
    const StepResult result = step(*optimizer, gradient(t));
    optimizer->progress();
    const bool is_round = t % interval == 0;
    const bool arrives = t > interval && t % interval == 2;
    const bool has_others = communicator_->size() > 1;
    EXPECT_EQ(communicator_->bytes_sent().total() > before, is_round && has_others) << t;
    EXPECT_EQ(result.phase, std::string(is_round ? "round" : arrives ? "arrival" : "local")) << t;
    EXPECT_EQ(result.synchronised, is_round && !has_others) << t;
  }
}

/// Gradients here do not depend on parameters: then nothing but the time at which steps arrive may change.
TEST_P(LocalRoundsTest, ADelayLosesNoStep) {
  for (const std::string code : {"none", "sign", "uniform4"}) {
    const auto at_once = make({{"code", code}});
    const auto late = make({{"code", code}, {"round_delay", 3}});
    const auto start = test::to_host(x_);
    Vector<float> other = test::to_device(start);
    Vector<float> both = test::to_device(start);
    const auto consensus = [&](Optimizer& optimizer, const Vector<float>& parameters) {
      optimizer.write_consensus(ExecutionSpace{}, parameters, both);
      Kokkos::fence();
      return test::to_host(both);
    };
    for (std::int64_t t = 1; t <= 3 * interval + 2; ++t) {
      step(*at_once, gradient(t));
      std::swap(x_, other);
      step(*late, gradient(t));
      std::swap(x_, other);
      const auto expected = consensus(*at_once, x_);
      const auto got = consensus(*late, other);
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5F) << code << t;
      EXPECT_TRUE(test::bitwise_equal(got, test::from_rank_zero(got))) << code << t;
    }
    x_ = test::to_device(start);
  }
}

TEST_P(LocalRoundsTest, DelaysThatMakeNoSenseAreRefused) {
  EXPECT_THROW(make({{"round_delay", interval}}), std::invalid_argument);
  EXPECT_THROW(make({{"round_delay", 1}, {"code", "topk"}}), std::invalid_argument);
  EXPECT_THROW(make({{"round_delay", 1}, {"step_ahead", 0.5}}), std::invalid_argument);
  // Own steps of a round and of its delay decay together.
  EXPECT_THROW(make({{"round_delay", 3}, {"lr", 0.5}, {"weight_decay", 0.3}}), std::invalid_argument);
}

TEST_P(LocalRoundsTest, PresetsChangeDefaultsAndNothingThatIsGiven) {
  const std::string preset = GetParam() == "local_muon" ? "mu_loco" : "sparse_loco";
  const OptionMap chosen =
      make_optimizer(GetParam(), {{"preset", preset}}, layout(), communicator_)->options();
  EXPECT_EQ(std::get<std::int64_t>(chosen.at("sync_interval")), 30);
  EXPECT_EQ(std::get<std::string>(chosen.at("code")), GetParam() == "local_muon" ? "uniform4" : "topk");
  const OptionMap beside =
      make_optimizer(GetParam(), {{"preset", preset}, {"sync_interval", 7}}, layout(), communicator_)
          ->options();
  EXPECT_EQ(std::get<std::int64_t>(beside.at("sync_interval")), 7);
  EXPECT_THROW(make({{"preset", "dilocoo"}}), std::exception);
}

INSTANTIATE_TEST_SUITE_P(Both, LocalRoundsTest, testing::Values("local_adam", "local_muon"),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace kadam::local_rounds_test
