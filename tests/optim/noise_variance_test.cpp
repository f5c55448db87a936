// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/host_views.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// Coordinates whose gradients are noise, as stock transformers have: with 1 bit they must not run away.
namespace kadam::noise_variance_test {
namespace {

constexpr std::int64_t d = 2112;
constexpr int steps = 90;
const TensorLayout layout({{"weight", 0, 1952}, {"qkv.bias", 1952, 2048}, {"hidden.bias", 2048, d}});
/// The gradient of the keys is what rounding leaves of 0; that of units that die is far below the others',
/// but well above eps.
const ElementRange keys{1984, 2016};
const ElementRange dying{2080, d};

bool is_in(const ElementRange& range, std::size_t i) {
  const auto element = static_cast<std::int64_t>(i);
  return element >= range.begin && element < range.end;
}

struct Kind {
  std::string name;
  std::string dense;
  OptionMap options;
  OptionMap dense_options = {};
};

std::vector<Kind> kinds() {
  const OptionMap frozen = {{"warmup_steps", 20}};
  OptionMap one_bit = frozen;
  one_bit["bits"] = 1;
  OptionMap preconditioned = frozen;
  preconditioned["precondition"] = true;
  return {{"onebit_adam", "adam", frozen},
          {"onebit_adam", "adam", preconditioned},
          {"apmsqueeze", "adam", one_bit, {{"bias_correction", false}}},
          {"onebit_lamb", "lamb", frozen},
          {"zero_one_adam",
           "adam",
           {{"variance_freeze_step", 20}, {"sync_doubling_steps", 30}, {"sync_interval_max", 4}}}};
}

class NoiseVarianceTest : public testing::Test {
 protected:
  const std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  const ExecutionSpace exec_;

  /// How far the furthest coordinate went, and the optimizer's health at the end.
  struct Course {
    double of_keys = 0.0;
    double of_dying = 0.0;
    double of_others = 0.0;
    Health health;
  };
  [[nodiscard]] Course run(const std::string& name, OptionMap options) const {
    options["lr"] = 0.001;
    const auto optimizer = make_optimizer(name, options, layout, communicator_);
    const std::vector<float> start(d, 0.1F);
    const auto x = test::to_device(start);
    std::mt19937 random(static_cast<unsigned>(7 + communicator_->rank()));
    std::normal_distribution<float> normal;
    for (int t = 1; t <= steps; ++t) {
      std::vector<float> g(d);
      for (std::size_t i = 0; i < g.size(); ++i) {
        const bool is_noise = is_in(keys, i) || is_in(dying, i);
        const float slope = is_noise ? 0.0F : i % 2 == 0 ? 1.0F : -1.0F;
        const float size = is_in(keys, i) ? 1e-11F : is_in(dying, i) ? 1e-6F : 0.01F;
        g[i] = size * (slope + normal(random));
      }
      optimizer->step(exec_, x, test::to_device(g));
    }
    Course course;
    course.health = optimizer->health(exec_);
    optimizer->flush(exec_, x);
    const auto end = test::to_host(x);
    for (std::size_t i = 0; i < end.size(); ++i) {
      double& furthest = is_in(keys, i)    ? course.of_keys
                         : is_in(dying, i) ? course.of_dying
                                           : course.of_others;
      furthest = std::max(furthest, std::fabs(static_cast<double>(end[i]) - static_cast<double>(start[i])));
    }
    return course;
  }
};

TEST_F(NoiseVarianceTest, NoCoordinateGoesTenTimesAsFarAsWithItsDenseOptimizer) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const Course dense = run(kind.dense, kind.dense_options);
    const Course got = run(kind.name, kind.options);
    EXPECT_LT(got.of_keys, 10.0 * dense.of_keys);
    EXPECT_LT(got.of_dying, 10.0 * dense.of_dying);
    EXPECT_LT(got.of_others, 3.0 * dense.of_others);
    EXPECT_GT(got.of_others, 0.3 * dense.of_others) << "it still learns";
    ASSERT_TRUE(got.health.largest_step.has_value());
    EXPECT_LT(got.health.largest_step->over_learning_rate, largest_largest_step);
    for (const Warning& warning : warnings(got.health))
      EXPECT_NE(warning.kind, "largest_step") << warning.text;
  }
}

TEST_F(NoiseVarianceTest, AsPublishedTheyRunAwayAndHealthSaysWhere) {
  if (communicator_->size() == 1) GTEST_SKIP() << "one rank sends no codes";
  for (Kind& kind : kinds()) {
    if (kind.options.contains("precondition")) continue;  // which bounds the steps by itself
    SCOPED_TRACE(kind.name);
    kind.options["variance_floor"] = 0.0;
    const Course dense = run(kind.dense, kind.dense_options);
    const Course got = run(kind.name, kind.options);
    EXPECT_GT(got.of_keys, 1000.0 * dense.of_keys);
    ASSERT_TRUE(got.health.largest_step.has_value());
    EXPECT_GT(got.health.largest_step->over_learning_rate, 1e4);
    EXPECT_EQ(got.health.largest_step->tensor, 1);
    EXPECT_EQ(got.health.largest_step->tensor_name, "qkv.bias");
    bool said = false;
    for (const Warning& warning : warnings(got.health)) {
      said = said || (warning.kind == "largest_step" && warning.text.find("'qkv.bias'") != std::string::npos);
    }
    EXPECT_TRUE(said);
  }
}

}  // namespace
}  // namespace kadam::noise_variance_test
