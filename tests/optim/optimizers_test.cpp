// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optim/optimizer_cases.hpp>
#include <reference/make_reference.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <tuple>
#include <utility>

/// Distributed runs equal simulated ones, rank by rank, on 1 to 4 ranks, directly and staged, in one level
/// and in two; the parameters are bitwise equal on all ranks whenever a step says so; and it sends as many
/// bytes as it says.
namespace kadam {
namespace {

using test::OptimizerCase;
using test::steps_per_case;

reference::Options reference_options(const OptionMap& options) {
  reference::Options same;
  for (const auto& [name, value] : options) {
    if (const auto* words = std::get_if<std::string>(&value)) {
      same[name] = *words;
    } else if (const auto* list = std::get_if<std::vector<double>>(&value)) {
      same[name] = *list;
    } else if (const auto* number = std::get_if<double>(&value)) {
      same[name] = *number;
    } else if (const auto* count = std::get_if<std::int64_t>(&value)) {
      same[name] = static_cast<double>(*count);
    } else {
      same[name] = std::get<bool>(value) ? 1.0 : 0.0;
    }
  }
  return same;
}

/// The gradients of all ranks in a step, rounded to a format; made once for all cases.
const reference::Ranks& gradients(const std::string& format, std::int64_t d, int ranks, std::int64_t step) {
  static std::map<std::tuple<std::string, std::int64_t, std::int64_t>, reference::Ranks> made;
  reference::Ranks& all = made[{format, d, step}];
  if (all.empty()) {
    all.reserve(static_cast<std::size_t>(ranks));
    const auto rounding = reference::Format::named(format);
    for (int r = 0; r < ranks; ++r) all.push_back(rounding.rounded(test::random_gradient(d, r, step)));
  }
  return all;
}

/// A sign decided within rounding of zero may flip: a few coordinates may be off, not more.
std::size_t coordinates_off(const std::vector<float>& got, const std::vector<float>& wanted) {
  std::size_t off = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!(std::fabs(got[i] - wanted[i]) <= 1e-4F * (0.01F + std::fabs(wanted[i])))) ++off;
  }
  return off;
}

/// How ranks exchange.
struct Exchanges {
  const char* title;
  Staging staging;
  int ranks_per_node;
};

constexpr Exchanges directly = {"", Staging::automatic, 1};
constexpr Exchanges staged = {"_staged", Staging::always, 1};
constexpr Exchanges in_two_levels = {"_two_levels", Staging::automatic, 2};
constexpr Exchanges staged_in_two_levels = {"_staged_two_levels", Staging::always, 2};

class OptimizersTest : public testing::TestWithParam<std::tuple<OptimizerCase, Exchanges>> {
 protected:
  [[nodiscard]] const OptimizerCase& optimizer_case() const { return std::get<0>(GetParam()); }
  [[nodiscard]] static int ranks_per_node() { return std::get<1>(GetParam()).ranks_per_node; }
  [[nodiscard]] int ranks() const { return communicator_->size(); }

  /// What this rank has and what it should have.
  void compare(const Vector<float>& parameters, const reference::Ranks& expected, bool synchronised) {
    Kokkos::fence();
    const auto got = test::to_host(parameters);
    const auto of_rank_zero = test::from_rank_zero(got);
    EXPECT_TRUE(!synchronised || test::bitwise_equal(got, of_rank_zero)) << "replicas differ";
    EXPECT_LE(coordinates_off(got, expected[static_cast<std::size_t>(communicator_->rank())]),
              got.size() / 200);
  }

  [[nodiscard]] std::uint64_t bytes_sent() const {
    const ByteCounters& sent = communicator_->bytes_sent();
    return sent.total() - sent.sent(Traffic::control);
  }

  void run(std::int64_t d) {
    const TensorLayout layout({{"a", 0, d / 3}, {"none", d / 3, d / 3}, {"b", d / 3, d}});
    const auto& [title, name, options] = optimizer_case();
    const auto simulation =
        reference::make_reference(name, reference_options(options),
                                  {ranks(), d, {{0, d / 3}, {d / 3, d / 3}, {d / 3, d}}, ranks_per_node()});
    const auto optimizer = make_optimizer(name, options, layout, communicator_);
    reference::Ranks expected(static_cast<std::size_t>(ranks()), test::random_vector(d, 2));
    const std::string format = optimizer->gradient_format() == NumberFormat::float32
                                   ? "float32"
                                   : std::get<std::string>(options.at("gradients"));
    const auto parameters = test::to_device(expected[0]);
    for (std::int64_t t = 1; t <= steps_per_case; ++t) {
      SCOPED_TRACE(testing::Message() << "d " << d << " step " << t);
      const reference::Ranks& all = gradients(format, d, ranks(), t);
      simulation.step(expected, all);
      const Gradient g = test::to_gradient(format, all[static_cast<std::size_t>(communicator_->rank())]);
      const std::uint64_t before = bytes_sent();
      const StepResult result = optimizer->step(ExecutionSpace{}, parameters, g);
      compare(parameters, expected, result.synchronised);
      EXPECT_EQ(bytes_sent() - before, optimizer->bytes_sent_in(t, result.phase)) << result.phase;
    }
    SCOPED_TRACE(testing::Message() << "d " << d << " after flush");
    simulation.flush(expected);
    optimizer->flush(ExecutionSpace{}, parameters);
    compare(parameters, expected, true);
  }

 private:
  static MpiOptions mpi_options() {
    return test::mpi_options(std::get<1>(GetParam()).staging,
                             test::divides_ranks(ranks_per_node()) ? ranks_per_node() : 1);
  }

  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD, mpi_options());
};

std::string title(const testing::TestParamInfo<OptimizersTest::ParamType>& test_info) {
  return std::get<0>(test_info.param).title + std::get<1>(test_info.param).title;
}

TEST_P(OptimizersTest, EqualsSimulatedRanksAndSendsWhatItSays) {
  if (!test::divides_ranks(ranks_per_node())) GTEST_SKIP() << "nodes of two need an even number of ranks";
  for (const std::int64_t d : {3, 301, 9000}) run(d);
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, OptimizersTest,
                         testing::Combine(testing::ValuesIn(test::optimizer_cases()),
                                          testing::Values(directly, staged)),
                         title);

INSTANTIATE_TEST_SUITE_P(TwoLevels, OptimizersTest,
                         testing::Combine(testing::ValuesIn(test::two_level_cases()),
                                          testing::Values(in_two_levels, staged_in_two_levels)),
                         title);

INSTANTIATE_TEST_SUITE_P(Formats, OptimizersTest,
                         testing::Combine(testing::ValuesIn(test::format_cases()), testing::Values(directly)),
                         title);

}  // namespace
}  // namespace kadam
