// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/optimizers_that.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>

/// What holds for every run, whatever was compressed: nothing is lost, and looking changes nothing.
namespace kadam::laws_test {
namespace {

constexpr std::int64_t d = 1500;
const TensorLayout layout({{"a", 0, 500}, {"b", 500, d}});

class Laws : public testing::Test {
 protected:
  const std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  const ExecutionSpace exec_;

  [[nodiscard]] std::unique_ptr<Optimizer> make(const std::string& name, const OptionMap& options) const {
    return make_optimizer(name, options, layout, communicator_);
  }
  [[nodiscard]] Vector<const float> gradient(std::int64_t t) const {
    return test::to_device(test::random_gradient(d, communicator_->rank(), t));
  }
  [[nodiscard]] std::vector<float> consensus(Optimizer& optimizer, const Vector<float>& parameters) const {
    const auto out = allocate<float>(exec_, "consensus", d);
    optimizer.write_consensus(exec_, parameters, out);
    exec_.fence();
    return test::to_host(out);
  }
  [[nodiscard]] std::vector<float> host(const Vector<float>& parameters) const {
    exec_.fence();
    return test::to_host(parameters);
  }
};

void expect_near(const std::vector<float>& got, const std::vector<float>& wanted, float tolerance) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], tolerance * (1.0F + std::fabs(wanted[i]))) << i;
  }
}

/// x - mean of what is owed = the run that sends everything at once.
TEST_F(Laws, NothingThatAResidualHoldsBackIsLost) {
  const OptionMap everything = {{"density", 1.0}, {"warmup_steps", 2}};
  const OptionMap sparse = {{"density", 0.01}, {"warmup_steps", 2}};
  OptionMap automatic = sparse;
  automatic["background_steps"] = "auto";
  std::vector<std::pair<std::string, OptionMap>> runs;
  for (const std::string& name : test::optimizers_that(&OptimizerTraits::sparse)) {
    runs.emplace_back(name, sparse);
    OptionMap two_levels = {{"density", 0.03}, {"warmup_steps", 2}, {"value_bits", 2}, {"select_block", 128}};
    runs.emplace_back(name, two_levels);
    if (has_option(name, "background_steps")) runs.emplace_back(name, automatic);
  }
  for (const auto& [name, options] : runs) {
    SCOPED_TRACE(name);
    const auto whole = make("locally_accumulated_adam", everything);
    const auto part = make(name, options);
    const auto x = test::to_device(test::random_vector(d, 2));
    const auto y = test::to_device(test::random_vector(d, 2));
    for (std::int64_t t = 1; t <= 20; ++t) {
      whole->step(exec_, x, gradient(t));
      part->step(exec_, y, gradient(t));
      expect_near(consensus(*part, y), host(x), 1e-6F);
    }
    if (communicator_->size() > 1) {
      EXPECT_FALSE(test::bitwise_equal(host(y), host(x)));
    }
    part->flush(exec_, y);
    expect_near(host(y), host(x), 1e-6F);
    EXPECT_TRUE(test::bitwise_equal(host(y), test::from_rank_zero(host(y))));
  }
}

/// Section "background" of divisible_adam: nothing is older than 2 tau steps, whatever the foreground takes.
TEST_F(Laws, TheBackgroundDeliversWithinTwiceItsInterval) {
  const std::int64_t tau = 3;
  for (std::int64_t first = 1; first <= tau; ++first) {
    const auto optimizer =
        make("divisible_adam",
             {{"beta1", 0.0}, {"background_steps", tau}, {"variance_sync_interval", 0}, {"step_ahead", 0.0}});
    const auto x = test::to_device(test::random_vector(d, 2));
    // With beta1 = 0 only the step that has a gradient makes an update.
    for (std::int64_t t = 1; t <= first + 2 * tau; ++t) {
      const auto zero = test::to_device(std::vector<float>(d, 0.0F));
      optimizer->step(exec_, x, t == first ? gradient(t) : Vector<const float>(zero));
      const auto owed = consensus(*optimizer, x);
      if (t == first && communicator_->size() > 1) {
        EXPECT_FALSE(test::bitwise_equal(host(x), owed));
      }
      if (t == first + 2 * tau) expect_near(host(x), owed, 1e-7F);
    }
  }
}

/// tau is measured, and agreed on: the plan says what it is.
TEST_F(Laws, AnAutomaticBackgroundIntervalIsTheSameOnAllRanks) {
  const auto optimizer = make("divisible_adam", {{"background_steps", "auto"}});
  const auto x = test::to_device(test::random_vector(d, 2));
  for (std::int64_t t = 1; t <= 12; ++t) optimizer->step(exec_, x, gradient(t));
  std::int64_t every = 0;
  for (const PlannedTraffic& planned : optimizer->traffic_plan()) {
    if (planned.traffic == Traffic::background) every = planned.every;
  }
  EXPECT_GE(every, 1);
  EXPECT_NO_THROW(
      communicator_->require_equal(std::vector<std::string>{"background_steps"},
                                   std::vector<std::uint64_t>{static_cast<std::uint64_t>(every)}));
}

class LawsOfAll : public Laws, public testing::WithParamInterface<std::string> {};

TEST_P(LawsOfAll, WritingTheConsensusChangesNothingAndIsWhatAFlushLeaves) {
  OptionMap options = test::options_with_warmup(GetParam(), 3);
  if (has_option(GetParam(), "step_ahead")) options["step_ahead"] = 0.5;
  if (has_option(GetParam(), "sync_doubling_steps")) options["sync_doubling_steps"] = 2;
  const auto watched = make(GetParam(), options);
  const auto x = test::to_device(test::random_vector(d, 2));
  bool differed = false;
  for (std::int64_t t = 1; t <= 12; ++t) {
    differed = !watched->step(exec_, x, gradient(t)).synchronised || differed;
    const auto seen = consensus(*watched, x);
    EXPECT_TRUE(test::bitwise_equal(seen, test::from_rank_zero(seen))) << "ranks disagree at step " << t;
    const auto other = make(GetParam(), options);
    const auto y = test::to_device(test::random_vector(d, 2));
    for (std::int64_t s = 1; s <= t; ++s) other->step(exec_, y, gradient(s));
    EXPECT_TRUE(test::bitwise_equal(host(x), host(y))) << "looking changed step " << t;
    other->flush(exec_, y);
    EXPECT_TRUE(test::bitwise_equal(host(y), seen)) << "the flush after step " << t;
  }
  if (communicator_->size() > 1) {
    EXPECT_EQ(differed, optimizer_traits(GetParam()).ranks_differ);
  }
}

/// The first gradient of a coordinate may come after the freeze: it must not blow up what is near it.
/// Many processors are a hundred times slower with subnormal numbers: no state may decay into them.
TEST_P(LawsOfAll, WhatHasNoGradientsAnyMoreLeavesNoSubnormalNumbers) {
  OptionMap options = test::options_that_agree(GetParam(), 3);
  const double decay = 0.8;  // 2 units of the smallest number stay 2 units; halves would vanish by themselves
  options["beta1"] = decay;
  options["beta2"] = decay;
  for (const auto& [option, value] : OptionMap{
           {"block", 64}, {"residual_decay", decay}, {"outer_momentum", decay}, {"sync_interval_max", 2}}) {
    if (has_option(GetParam(), option)) options[option] = value;
  }
  const auto optimizer =
      make_optimizer(GetParam(), options, layout, communicator_, {{.tensors = "a", .dense = true}});
  const auto x = test::to_device(std::vector<float>(d, 1.0F));
  const auto gradient_of = [&](std::int64_t t) {
    auto values = test::random_gradient(d, communicator_->rank(), t);
    for (float& value : values) value = std::fpclassify(value) == FP_SUBNORMAL ? 0.0F : value;
    if (t > 8) std::fill(values.begin() + 128, values.begin() + 1000, 0.0F);
    return test::to_device(values);
  };
  for (std::int64_t t = 1; t <= 1000; ++t) optimizer->step(exec_, x, gradient_of(t));
  const StateFields fields = optimizer->state_to_save(exec_, x);
  exec_.fence();
  for (const StateVector& field : fields.vectors()) {
    const auto values = test::to_host(field.values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NE(std::fpclassify(values[i]), FP_SUBNORMAL)
          << field.name << " of element " << static_cast<std::int64_t>(i) + field.placement.range.begin;
    }
  }
}

TEST_P(LawsOfAll, AFirstGradientAfterTheWarmUpDoesNoHarm) {
  OptionMap options = test::options_with_warmup(GetParam(), 4);
  options["lr"] = 0.01;
  const auto optimizer = make(GetParam(), options);
  const auto start = test::random_vector(d, 2);
  const auto x = test::to_device(start);
  for (std::int64_t t = 1; t <= 12; ++t) {
    std::vector<float> g(d);
    for (std::size_t i = 0; i < g.size(); ++i) {
      const bool late = i >= 100 && i < 110 && t <= 6;
      g[i] = late ? 0.0F : std::copysign(1.0F, start[i]) * (1.0F + 0.1F * static_cast<float>(t % 3));
    }
    optimizer->step(exec_, x, test::to_device(g));
  }
  optimizer->flush(exec_, x);
  const auto end = host(x);
  const OptimizerTraits& traits = optimizer_traits(GetParam());
  const bool frozen = traits.freezes;
  EXPECT_EQ(optimizer->inactive_elements(), frozen ? 10 : 0);
  EXPECT_EQ(optimizer->health(exec_).variance_spread.has_value(), traits.local_moments);
  for (std::size_t i = 0; i < end.size(); ++i) {
    const bool late = i >= 100 && i < 110;
    // 12 steps of about lr; LAMB's trust ratio is about the size of the parameters here.
    ASSERT_LT(std::fabs(end[i] - start[i]), 1.0F) << i;
    EXPECT_EQ(end[i] == start[i], frozen && late) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, LawsOfAll, testing::ValuesIn(optimizer_names()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace kadam::laws_test
