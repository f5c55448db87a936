// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <c_api/c_optimizer.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

#include <cmath>
#include <optional>

/// Calls of C do what those of C++ do, with groups, clipping, consensus and announcements; and results have
/// all fields.
namespace kadam::test {
namespace {

constexpr std::int64_t steps_in_all = 12;

std::int64_t elements_in_all() {
  return c_layout.elements();
}

OptionMap options_for(const std::string& name) {
  OptionMap options = options_that_agree(name, 4);
  options["lr"] = 0.01;
  if (has_option(name, "sync_doubling_steps")) options["sync_doubling_steps"] = 2;
  return options;
}

/// What the two interfaces did, call by call.
struct Course {
  std::vector<float> consensus;
  std::vector<float> end;  ///< after a flush
  std::vector<StepResult> results;
};

Course course_of_cpp(const std::string& name, const OptionMap& options,
                     const std::vector<ParameterGroup>& groups = {}) {
  const ExecutionSpace exec;
  const auto optimizer =
      make_optimizer(name, options, c_layout, make_mpi_communicator(MPI_COMM_WORLD), groups);
  const Vector<float> x = to_device(random_vector(elements_in_all(), 7));
  const Vector<float> consensus("consensus", x.extent(0));
  Course course;
  for (std::int64_t t = 1; t <= steps_in_all; ++t) {
    if (t == 5 && world_rank() == 0) optimizer->raise(6);
    std::vector<float> gradient = random_gradient(elements_in_all(), world_rank(), t);
    if (t == 7) gradient[5] = INFINITY;
    course.results.push_back(optimizer->step(exec, x, to_device(gradient)));
  }
  optimizer->write_consensus(exec, x, consensus);
  exec.fence();
  course.consensus = to_host(consensus);
  optimizer->flush(exec, x);
  exec.fence();
  course.end = to_host(x);
  return course;
}

StepResult result_of(const kadam_step_result& of) {
  return {.step = of.step,
          .skipped = of.skipped != 0,
          .phase = of.phase,
          .synchronised = of.synchronised != 0,
          .learning_rate = of.learning_rate,
          .gradient_norm = of.gradient_norm,
          .gradient_scale = of.gradient_scale,
          .raised = of.raised,
          .skipped_alone = of.skipped_alone};
}

Course course_of_c(COptimizer& of) {
  Course course;
  course.end = random_vector(elements_in_all(), 7);
  course.consensus.resize(course.end.size());
  for (std::int64_t t = 1; t <= steps_in_all; ++t) {
    if (t == 5 && world_rank() == 0) {
      EXPECT_EQ(kadam_raise(of.optimizer, 6, nullptr), KADAM_SUCCESS);
    }
    std::vector<float> gradient = random_gradient(elements_in_all(), world_rank(), t);
    if (t == 7) gradient[5] = INFINITY;
    kadam_step_result result{};
    EXPECT_EQ(kadam_step(of.optimizer, course.end.data(), gradient.data(), &result, &of.error), KADAM_SUCCESS)
        << of.error.text;
    course.results.push_back(result_of(result));
  }
  EXPECT_EQ(kadam_consensus(of.optimizer, course.end.data(), course.consensus.data(), nullptr),
            KADAM_SUCCESS);
  EXPECT_EQ(kadam_flush(of.optimizer, course.end.data(), nullptr), KADAM_SUCCESS);
  return course;
}

void expect_equal(const Course& got, const Course& wanted) {
  EXPECT_TRUE(bitwise_equal(got.consensus, wanted.consensus)) << "another consensus";
  EXPECT_TRUE(bitwise_equal(got.end, wanted.end)) << "other parameters";
  ASSERT_EQ(got.results.size(), wanted.results.size());
  for (std::size_t k = 0; k < got.results.size(); ++k) {
    SCOPED_TRACE(testing::Message() << "call " << k + 1);
    const StepResult& one = got.results[k];
    const StepResult& other = wanted.results[k];
    EXPECT_EQ(one.step, other.step);
    EXPECT_EQ(one.skipped, other.skipped);
    EXPECT_STREQ(one.phase, other.phase);
    EXPECT_EQ(one.synchronised, other.synchronised);
    EXPECT_EQ(one.learning_rate, other.learning_rate);
    EXPECT_EQ(one.gradient_norm, other.gradient_norm);
    EXPECT_EQ(one.gradient_scale, other.gradient_scale);
    EXPECT_EQ(one.raised, other.raised);
    EXPECT_EQ(one.skipped_alone, other.skipped_alone);
    EXPECT_EQ(one.raised, k + 1 == 5 ? 6U : 0U);
    EXPECT_EQ(one.skipped, k + 1 == 7);
  }
}

class CallsOfC : public testing::TestWithParam<std::string> {};

/// With a weight decay of the optimizer's own, beside a group that has none and one that has another.
TEST_P(CallsOfC, HaveTheGroupsOfCpp) {
  OptionMap options = options_for(GetParam());
  options["weight_decay"] = 0.3;
  COptimizer of(GetParam(), options);
  kadam_setup_group(of.setup, "bias", 0.5, 0.0, 1);
  kadam_setup_group(of.setup, "m*", 2.0, NAN, 0);
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  const std::vector<ParameterGroup> groups = {{"bias", 0.5, 0.0, true}, {"m*", 2.0, {}, false}};
  const Course course = course_of_c(of);
  expect_equal(course, course_of_cpp(GetParam(), options, groups));
  // What each of the fields does is seen in these numbers.
  const auto differs = [&](const std::vector<ParameterGroup>& others) {
    return !bitwise_equal(course.end, course_of_cpp(GetParam(), options, others).end);
  };
  EXPECT_TRUE(differs({{"bias", 0.5, {}, true}, {"m*", 2.0, {}, false}}));
  EXPECT_TRUE(differs({{"bias", 0.5, 0.0, true}, {"m*", 2.0, 0.0, false}}));
  EXPECT_TRUE(differs({{"bias", 1.0, 0.0, true}, {"m*", 2.0, {}, false}}));
  // Of vectors that are no matrices a low-rank mean compresses nothing.
  const OptimizerTraits& traits = optimizer_traits(GetParam());
  const bool compresses = !traits.dense && (!traits.matrices || !traits.codes.empty());
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (compresses && ranks > 1) {
    EXPECT_TRUE(differs({{"bias", 0.5, 0.0, false}, {"m*", 2.0, {}, false}}));
  }
}

TEST_P(CallsOfC, ClipAndSayWhatTheyDid) {
  OptionMap options = options_for(GetParam());
  options["clip_norm"] = 3.0;
  COptimizer of(GetParam(), options);
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  const Course course = course_of_c(of);
  expect_equal(course, course_of_cpp(GetParam(), options));
  for (const StepResult& result : course.results) {
    EXPECT_EQ(result.gradient_scale < 1.0, !result.skipped) << result.step;
    EXPECT_NE(result.gradient_scale, result.learning_rate);
  }
  if (has_option(GetParam(), "sync_doubling_steps")) {
    EXPECT_FALSE(course.results.back().synchronised) << "no step without synchronisation";
  }
}

/// Options from outside, in the middle of a run; of a group NAN is the optimizer's weight decay.
TEST_P(CallsOfC, SetWhatCppSets) {
  OptionMap options = options_for(GetParam());
  options["weight_decay"] = 0.3;
  COptimizer of(GetParam(), options);
  kadam_setup_group(of.setup, "m*", 2.0, 0.1, 0);
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  const auto optimizer = make_optimizer(GetParam(), options, c_layout, make_mpi_communicator(MPI_COMM_WORLD),
                                        {{"m*", 2.0, 0.1, false}});
  const ExecutionSpace exec;
  std::vector<float> x = random_vector(elements_in_all(), 7);
  const Vector<float> y = to_device(x);
  const auto set_both = [&](const char* option, double value) {
    EXPECT_EQ(kadam_set(of.optimizer, option, value, &of.error), KADAM_SUCCESS) << of.error.text;
    optimizer->set({{option, value}});
  };
  const auto set_both_groups = [&](double lr_scale, const std::optional<double>& weight_decay) {
    EXPECT_EQ(kadam_set_group(of.optimizer, "m*", lr_scale, weight_decay.value_or(NAN), &of.error),
              KADAM_SUCCESS)
        << of.error.text;
    optimizer->set_group("m*", lr_scale, weight_decay);
  };
  for (std::int64_t t = 1; t <= steps_in_all; ++t) {
    if (t == 3) {
      set_both("lr", 0.02);
      set_both("weight_decay", 0.2);
      set_both_groups(0.5, 0.6);
    }
    if (t == 6) set_both("clip_norm", 3.0);
    if (t == 9) set_both_groups(1.5, {});
    const std::vector<float> gradient = random_gradient(elements_in_all(), world_rank(), t);
    kadam_step_result result{};
    ASSERT_EQ(kadam_step(of.optimizer, x.data(), gradient.data(), &result, &of.error), KADAM_SUCCESS)
        << of.error.text;
    EXPECT_EQ(result.learning_rate, t < 3 ? 0.01 : 0.02);
    EXPECT_EQ(result.gradient_scale < 1.0, t >= 6);
    (void)optimizer->step(exec, y, to_device(gradient));
    exec.fence();
    EXPECT_TRUE(bitwise_equal(x, to_host(y))) << "after step " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(CApi, CallsOfC, testing::ValuesIn(optimizer_names()),
                         [](const auto& one) { return one.param; });

/// That an announcement arrived is seen by what it forbids; that it changes nothing, by the parameters.
TEST(CApiAnnouncements, BindTheNextStepToTheirGradient) {
  const OptionMap options = options_for("adam");
  COptimizer early("adam", options);
  ASSERT_EQ(early.create(MPI_COMM_WORLD), KADAM_SUCCESS) << early.error.text;
  std::vector<float> x = random_vector(elements_in_all(), 7);
  COptimizer late("adam", options);
  ASSERT_EQ(late.create(MPI_COMM_WORLD), KADAM_SUCCESS) << late.error.text;
  std::vector<float> y = x;
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (std::int64_t t = 1; t <= steps_in_all; ++t) {
    const std::vector<float> gradient = random_gradient(elements_in_all(), world_rank(), t);
    ASSERT_EQ(kadam_gradient_ready(early.optimizer, gradient.data(), 900, 2003, &early.error), KADAM_SUCCESS)
        << early.error.text;
    ASSERT_EQ(kadam_progress(early.optimizer, nullptr), KADAM_SUCCESS);
    if (ranks > 1) {
      const std::vector<float> other = gradient;
      EXPECT_EQ(kadam_step(early.optimizer, x.data(), other.data(), nullptr, &early.error),
                KADAM_INVALID_ARGUMENT);
      EXPECT_NE(std::string(early.error.text).find("is not the View that gradient_ready() got for this step"),
                std::string::npos)
          << early.error.text;
    }
    ASSERT_EQ(kadam_gradient_ready(early.optimizer, gradient.data(), 0, 900, nullptr), KADAM_SUCCESS);
    ASSERT_EQ(kadam_step(early.optimizer, x.data(), gradient.data(), nullptr, &early.error), KADAM_SUCCESS)
        << early.error.text;
    ASSERT_EQ(kadam_step(late.optimizer, y.data(), gradient.data(), nullptr, nullptr), KADAM_SUCCESS);
  }
  EXPECT_TRUE(bitwise_equal(x, y));
}

}  // namespace
}  // namespace kadam::test
