// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <optim/optimizer_cases.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/shared_folder.hpp>

#include <gtest/gtest.h>

#include <map>

/// On as many ranks, with other groups or options than it was saved with: all vectors of the state are as
/// they were saved, and what changed begins with the next step.
namespace kadam::other_options_test {
namespace {

using test::OptimizerCase;

constexpr std::int64_t d = 1500;
constexpr std::int64_t steps_before = 13;
const TensorLayout layout({{"a", 0, 500, {20, 25}}, {"bias", 500, 540}, {"b", 540, d}});

using Groups = std::vector<ParameterGroup>;
const Groups groups_before = {{"bias", 0.5, 0.0, true}};

class OtherOptions : public testing::TestWithParam<OptimizerCase> {
 protected:
  [[nodiscard]] std::unique_ptr<Optimizer> make(const Groups& groups, const OptionMap& more = {}) const {
    OptionMap options = GetParam().options;
    for (const auto& [name, value] : more) options[name] = value;
    return make_optimizer(GetParam().name, options, layout, communicator_, groups);
  }

  void train(Optimizer& optimizer, const Vector<float>& x, std::int64_t last) const {
    while (optimizer.steps_taken() < last) {
      const std::int64_t t = optimizer.steps_taken() + 1;
      (void)optimizer.step(exec_, x, test::to_device(test::random_gradient(d, communicator_->rank(), t)));
    }
    exec_.fence();
  }

  /// All vectors of this rank by name, with the parameters.
  std::map<std::string, std::vector<float>> state_of(Optimizer& optimizer, const Vector<float>& x) const {
    std::map<std::string, std::vector<float>> all;
    const StateFields state = optimizer.state_to_save(exec_, x);
    exec_.fence();
    for (const StateVector& field : state.vectors()) {
      if (field.if_missing != StateVector::IfMissing::add) all[field.name] = test::to_host(field.values);
    }
    if (state.common_parameters()) all["x"] = test::to_host(state.common_parameters()->values);
    return all;
  }

  void expect_taken_over(Optimizer& other, const std::map<std::string, std::vector<float>>& before) {
    const auto y = test::to_device(std::vector<float>(d, 1e30F));
    ASSERT_TRUE(checkpoint::restore_newest(exec_, other, y, folder_.path()).has_value());
    const std::map<std::string, std::vector<float>> after = state_of(other, y);
    for (const auto& [name, values] : before) {
      ASSERT_TRUE(after.contains(name)) << name;
      EXPECT_TRUE(test::bitwise_equal(after.at(name), values)) << "other values of " << name;
    }
    train(other, y, steps_before + 4);
    other.flush(exec_, y);
    exec_.fence();
    const std::vector<float> got = test::to_host(y);
    // What loco sends in 16 bits, and what codes leave in errors, is equal on all ranks as well.
    EXPECT_TRUE(test::bitwise_equal(got, test::from_rank_zero(got)));
  }

  const ExecutionSpace exec_;
  const std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  test::SharedFolder folder_;
};

TEST_P(OtherOptions, TakeTheWholeStateOver) {
  const auto saved = make(groups_before);
  const auto x = test::to_device(test::random_vector(d, 2));
  train(*saved, x, steps_before);
  (void)checkpoint::save(exec_, *saved, x, folder_.path());
  const auto before = state_of(*saved, x);
  for (const Groups& groups : {groups_before, Groups{}, Groups{{"a", 1.0, {}, true}},
                               Groups{{"b", 2.0, 0.1, false}, {"bias", 1.0, {}, true}}}) {
    SCOPED_TRACE(groups.empty() ? "without groups" : groups.front().tensors);
    expect_taken_over(*make(groups), before);
  }
  {
    SCOPED_TRACE("with another clip_norm");
    expect_taken_over(*make(groups_before, {{"clip_norm", 5.0}}), before);
  }
  if (GetParam().options.contains("round_delay")) {
    SCOPED_TRACE("without a delay: the round on its way still arrives");
    expect_taken_over(*make(groups_before, {{"round_delay", 0}}), before);
  }
  if (GetParam().options.contains("moments")) {
    SCOPED_TRACE("with moments in float32");
    expect_taken_over(*make(groups_before, {{"moments", "float32"}}), before);
  }
  SCOPED_TRACE("with other tensors kept dense");
  expect_taken_over(*make({}, {{"dense_below", 600}}), before);
}

/// Other groups, of which one is as before.
TEST_P(OtherOptions, FindWhatWasSetOfGroupsByTheirPatterns) {
  const auto saved = make({{"bias", 0.5, 0.0, true}, {"b", 2.0, 0.1, false}});
  const auto x = test::to_device(test::random_vector(d, 2));
  train(*saved, x, steps_before);
  saved->set({{"lr", 0.004}});
  saved->set_group("bias", 0.25, {});
  saved->set_group("b", 3.0, 0.05);
  (void)checkpoint::save(exec_, *saved, x, folder_.path());
  const auto settings_with = [&](const Groups& groups) {
    const auto other = make(groups);
    EXPECT_TRUE(checkpoint::restore_newest(exec_, *other, x, folder_.path()).has_value());
    return other->settings();
  };
  EXPECT_EQ(settings_with({{"bias", 0.5, 0.0, true}, {"b", 2.0, 0.1, false}}), saved->settings());
  const Settings other = settings_with({{"b", 1.0, {}, false}, {"a", 2.0, {}, false}});
  EXPECT_EQ(other.lr, 0.004);
  ASSERT_EQ(other.of_groups.size(), 2U);
  EXPECT_EQ(other.of_groups[0], (Settings::OfGroup{3.0, 0.05}));
  EXPECT_EQ(other.of_groups[1], Settings::OfGroup{});
  const Settings without = settings_with({});
  EXPECT_EQ(without.lr, 0.004);
  EXPECT_TRUE(without.of_groups.empty());
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, OtherOptions, testing::ValuesIn(test::cases_for(test::Part::groups)),
                         [](const auto& test_info) { return test_info.param.title; });

}  // namespace
}  // namespace kadam::other_options_test
