// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <optim/optimizer_cases.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/shared_folder.hpp>
#include <tuple>

/// Train k steps, save, and go on elsewhere: to the last bit what would have come without the interruption,
/// on every rank, for every algorithm in every phase. And saving changes nothing.
namespace kadam {
namespace {

using test::OptimizerCase;
using test::steps_per_case;

constexpr std::int64_t d = 1500;
const TensorLayout layout({{"a", 0, 500}, {"none", 500, 500}, {"b", 500, d}});

/// Beginnings and ends of warm-ups, what follows them, and steps between synchronisations and while means
/// travel in the background.
constexpr std::array<std::int64_t, 8> saved_steps = {1, 4, 5, 7, 8, 9, 13, 18};

class ResumeTest : public testing::TestWithParam<std::tuple<OptimizerCase, int>> {
 protected:
  [[nodiscard]] const OptimizerCase& optimizer_case() const { return std::get<0>(GetParam()); }
  [[nodiscard]] static int ranks_per_node() { return std::get<1>(GetParam()); }

  [[nodiscard]] std::unique_ptr<Optimizer> make() const {
    return make_optimizer(optimizer_case().name, optimizer_case().options, layout, communicator_);
  }

  [[nodiscard]] Gradient gradient(std::int64_t t) const {
    const auto format = optimizer_case().options.find("gradients");
    return test::to_gradient(
        format == optimizer_case().options.end() ? "float32" : std::get<std::string>(format->second),
        test::random_gradient(d, communicator_->rank(), t));
  }

  /// Steps `from` + 1 to the last, saving where it is told to, and a flush: what this rank then has, and had
  /// before the flush.
  std::vector<float> run(Optimizer& optimizer, const Vector<float>& parameters, std::int64_t from,
                         bool saves) {
    for (std::int64_t t = from + 1; t <= steps_per_case; ++t) {
      (void)optimizer.step(exec_, parameters, gradient(t));
      const bool is_saved = std::find(saved_steps.begin(), saved_steps.end(), t) != saved_steps.end();
      if (saves && is_saved) (void)checkpoint::save(exec_, optimizer, parameters, folder_.path(), {}, 0);
    }
    exec_.fence();
    std::vector<float> result = test::to_host(parameters);
    optimizer.flush(exec_, parameters);
    exec_.fence();
    const std::vector<float> flushed = test::to_host(parameters);
    result.insert(result.end(), flushed.begin(), flushed.end());
    return result;
  }

  [[nodiscard]] std::filesystem::path path_of(std::int64_t step) const {
    std::string digits = std::to_string(step);
    return folder_.path() / ("step-" + std::string(12 - digits.size(), '0') + digits);
  }

  static MpiOptions mpi_options() {
    return test::mpi_options(Staging::automatic,
                             test::divides_ranks(ranks_per_node()) ? ranks_per_node() : 1);
  }

  const ExecutionSpace exec_;
  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD, mpi_options());
  test::SharedFolder folder_;
};

TEST_P(ResumeTest, ContinuesToTheLastBit) {
  if (!test::divides_ranks(ranks_per_node())) GTEST_SKIP() << "nodes of two need an even number of ranks";
  const std::vector<float> start = test::random_vector(d, 2);
  const auto undisturbed = test::to_device(start);
  const std::vector<float> expected = run(*make(), undisturbed, 0, false);
  const auto saved = test::to_device(start);
  EXPECT_TRUE(test::bitwise_equal(run(*make(), saved, 0, true), expected)) << "saving changed something";
  for (const std::int64_t step : saved_steps) {
    SCOPED_TRACE(testing::Message() << "after step " << step);
    const auto optimizer = make();
    const auto parameters = test::to_device(std::vector<float>(start.size(), 1e30F));
    const auto restored = checkpoint::restore(exec_, *optimizer, parameters, path_of(step));
    EXPECT_EQ(restored.step, step);
    EXPECT_EQ(optimizer->steps_taken(), step);
    EXPECT_TRUE(test::bitwise_equal(run(*optimizer, parameters, step, false), expected));
  }
}

std::string title(const testing::TestParamInfo<ResumeTest::ParamType>& test_info) {
  return std::get<0>(test_info.param).title + (std::get<1>(test_info.param) > 1 ? "_two_levels" : "");
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, ResumeTest,
                         testing::Combine(testing::ValuesIn(test::optimizer_cases()), testing::Values(1)),
                         title);
INSTANTIATE_TEST_SUITE_P(TwoLevels, ResumeTest,
                         testing::Combine(testing::ValuesIn(test::two_level_cases()), testing::Values(2)),
                         title);
INSTANTIATE_TEST_SUITE_P(Formats, ResumeTest,
                         testing::Combine(testing::ValuesIn(test::format_cases()), testing::Values(1)),
                         title);

}  // namespace
}  // namespace kadam
