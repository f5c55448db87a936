// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>
#include <optim/optimizer_cases.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>
#include <support/wires.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

/// What one rank cannot do ends the step on all, in words.
namespace kadam::giving_up_test {
namespace {

constexpr std::int64_t d = 300;
constexpr std::int64_t interval = 3;

class GivingUp : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static OptionMap options() {
    OptionMap all = test::options_with_warmup(GetParam(), 2);
    if (has_option(GetParam(), "sync_interval")) all["sync_interval"] = interval;
    return all;
  }
  [[nodiscard]] static bool agrees_in_rounds() { return has_option(GetParam(), "nonfinite"); }

  const std::shared_ptr<Communicator> communicator_ = test::wires.front().connect(1, 20.0);
  const int rank_ = communicator_->rank();
  const std::unique_ptr<Optimizer> optimizer_ =
      make_optimizer(GetParam(), options(), TensorLayout({{"w", 0, d}}), communicator_);
  const Vector<float> x_ = test::to_device(test::random_vector(d, 2));

  void step(std::int64_t t, std::int64_t elements = d) {
    (void)optimizer_->step(ExecutionSpace{}, x_, test::to_device(test::random_gradient(elements, rank_, t)));
  }
  /// Of ranks that hear of it: in this step, or in that of the next round.
  void expect_peer_failure(std::int64_t t) {
    try {
      step(t);
      while (agrees_in_rounds() && t % interval != 0) step(++t);
      ADD_FAILURE() << "a step without rank 0";
    } catch (const PeerFailure& failure) {
      EXPECT_STREQ(failure.what(), "kadam: rank 0 cannot take this step: its own message says why");
    }
  }
};

TEST_P(GivingUp, AWrongArrayOfOneRankEndsTheStepOnAll) {
  for (std::int64_t t = 1; t <= 3; ++t) step(t);
  if (rank_ == 0) {
    EXPECT_THROW(step(4, d - 1), std::invalid_argument);
  } else {
    expect_peer_failure(4);
  }
}

TEST_P(GivingUp, ARankThatHasNoGradientSaysSo) {
  if (rank_ == 0) {
    optimizer_->give_up_step();
  } else {
    expect_peer_failure(1);
  }
}

/// Nobody waits for a rank that is told the same.
TEST_P(GivingUp, TheSameMistakeOnAllRanksIsSaidOnAll) {
  EXPECT_THROW(step(1, d + 1), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, GivingUp, testing::ValuesIn(optimizer_names()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace kadam::giving_up_test
