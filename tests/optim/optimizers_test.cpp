// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <optim/optimizer_cases.hpp>
#include <optim/simulated_run.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

/// Distributed runs equal simulated ones, rank by rank, on 1 to 4 ranks, directly and staged, in one level
/// and in two; the parameters are bitwise equal on all ranks whenever a step says so; and it sends as many
/// bytes as it says.
namespace kadam {
namespace {

using test::OptimizerCase;
using test::SimulatedRun;
using test::steps_per_case;

/// Tensors "edge.n" hold the first element of the second chunk on n ranks, "norm" begins within a chunk, and
/// "long" has more than one tile of LAMB's, if d is large. Those that have a shape are high, wide and square
/// matrices.
TensorLayout layout_of(std::int64_t d) {
  using Lengths = std::vector<std::int64_t>;
  const Lengths lengths = d == 9000  ? Lengths{20, 1980, 0, 100, 195, 15, 30, 660, 30, 1500, 30, 4440}
                          : d == 301 ? Lengths{7, 53, 0, 10, 50, 3, 20, 42, 15, 18, 5, 78}
                                     : Lengths{1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const char* const names[] = {"first",  "half", "none",   "norm", "still",  "undecayed",
                               "edge.4", "b",    "edge.3", "c",    "edge.2", "long"};
  const std::map<std::pair<std::string, std::int64_t>, std::vector<std::int64_t>> shapes = {
      {{"half", 1980}, {44, 45}}, {{"norm", 100}, {10, 10}},  {{"b", 660}, {33, 4, 5}},
      {{"c", 1500}, {10, 150}},   {{"long", 4440}, {74, 60}}, {{"norm", 10}, {2, 5}},
      {{"b", 42}, {6, 7}},        {{"c", 18}, {9, 2}},        {{"long", 78}, {13, 6}}};
  std::vector<Tensor> tensors;
  std::int64_t begin = 0;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    tensors.push_back({names[k], begin, begin + lengths[k]});
    if (const auto shape = shapes.find({names[k], lengths[k]}); shape != shapes.end()) {
      tensors.back().shape = shape->second;
      tensors.back().spectral = tensors.back().name != "long";
    }
    begin += lengths[k];
  }
  return TensorLayout(tensors);
}

/// The simulated run of a case, made once for all ways of exchanging that give the same.
const SimulatedRun& simulated(const OptimizerCase& optimizer_case, const TensorLayout& layout, int ranks,
                              int ranks_per_node, const std::string& format) {
  static std::map<std::pair<std::int64_t, int>, SimulatedRun> runs;
  static std::string title;
  if (title != optimizer_case.title) runs.clear();
  title = optimizer_case.title;
  const std::pair key{layout.elements(), ranks_per_node};
  if (!runs.contains(key)) {
    runs[key] = test::simulate(optimizer_case, layout, ranks, ranks_per_node, format);
  }
  return runs.at(key);
}

/// What rounding may make of parameters that have been as large as `largest`, and nothing else: no element is
/// let off.
testing::AssertionResult are_near(const std::vector<float>& got, const std::vector<float>& wanted,
                                  const std::vector<float>& largest, float tolerance) {
  std::size_t off = 0;
  std::size_t first = 0;
  for (std::size_t i = got.size(); i-- > 0;) {
    if (std::fabs(got[i] - wanted[i]) <= tolerance * (0.01F + largest[i])) continue;
    ++off;
    first = i;
  }
  if (off == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << off << " elements are off, the first is " << first << ": "
                                     << got[first] << ", expected " << wanted[first];
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
    const auto& own = expected[static_cast<std::size_t>(communicator_->rank())];
    Kokkos::fence();
    const auto got = test::to_host(parameters);
    const auto of_rank_zero = test::from_rank_zero(got);
    EXPECT_TRUE(!synchronised || test::bitwise_equal(got, of_rank_zero)) << "replicas differ";
    largest_.resize(own.size(), 0.0F);
    for (std::size_t i = 0; i < own.size(); ++i) largest_[i] = std::max(largest_[i], std::fabs(own[i]));
    EXPECT_TRUE(are_near(got, own, largest_, optimizer_case().tolerance));
  }

  [[nodiscard]] std::uint64_t bytes_sent() const {
    const ByteCounters& sent = communicator_->bytes_sent();
    return sent.total() - sent.sent(Traffic::control);
  }

  void run(std::int64_t d) {
    const TensorLayout layout = layout_of(d);
    largest_.clear();
    const auto& [title, name, options, marked_for, flush_after, groups, tolerance] = optimizer_case();
    const auto optimizer = make_optimizer(name, options, layout, communicator_, groups);
    const std::string format = optimizer->gradient_format() == NumberFormat::float32
                                   ? "float32"
                                   : std::get<std::string>(options.at("gradients"));
    const SimulatedRun& expected = simulated(optimizer_case(), layout, ranks(), ranks_per_node(), format);
    EXPECT_EQ(expected.undecided, "") << "d " << d << ": rounding decides whatever the gradient is";
    EXPECT_LE(expected.altered_elements, static_cast<std::size_t>(d * steps_per_case) / 50)
        << "d " << d << ": the gradients are no longer those that were to be tried";
    const auto parameters = test::to_device(expected.start);
    const auto consensus = test::to_device(expected.start);
    bool is_asked_for = false;
    for (std::int64_t t = 1; t <= steps_per_case; ++t) {
      SCOPED_TRACE(testing::Message() << "d " << d << " step " << t);
      const auto step = static_cast<std::size_t>(t - 1);
      const auto& own = expected.gradients[step][static_cast<std::size_t>(communicator_->rank())];
      const std::uint64_t before = bytes_sent();
      const StepResult result = optimizer->step(ExecutionSpace{}, parameters, test::to_gradient(format, own));
      compare(parameters, expected.parameters[step], result.synchronised);
      const std::string phase = result.phase;
      if (phase == "round") is_asked_for = false;
      // A consensus waits for a round on its way, and sends what its arrival would.
      const bool has_arrived = phase == "arrival" && is_asked_for;
      EXPECT_EQ(bytes_sent() - before, has_arrived ? 0 : optimizer->bytes_sent_in(t, phase)) << phase;
      if (t % 3 == 0 || t == flush_after) {
        is_asked_for = true;
        SCOPED_TRACE("consensus");
        optimizer->write_consensus(ExecutionSpace{}, parameters, consensus);
        compare(consensus, expected.consensus[step], true);
      }
      if (t == flush_after || t == steps_per_case) {
        SCOPED_TRACE("after flush");
        optimizer->flush(ExecutionSpace{}, parameters);
        compare(parameters, expected.consensus[step], true);
      }
    }
  }

 private:
  std::vector<float> largest_;  ///< magnitude of each parameter so far

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

/// What joins the table is tested: no list of names says otherwise.
TEST(OptimizerCases, AreOfEveryOptimizerInEveryPart) {
  using enum test::Part;
  const auto expect_all = [](const std::vector<OptimizerCase>& cases) {
    for (const std::string& name : optimizer_names()) {
      EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const auto& one) { return one.name == name; }))
          << name;
    }
  };
  for (const test::Part part : {every_event, groups, other_ranks, rules, two_levels}) {
    SCOPED_TRACE(static_cast<int>(part));
    expect_all(test::cases_for(part));
  }
  expect_all(test::rule_cases());
  expect_all(test::format_cases());
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, OptimizersTest,
                         testing::Combine(testing::ValuesIn(test::optimizer_cases()),
                                          testing::Values(directly, staged)),
                         title);

INSTANTIATE_TEST_SUITE_P(Rules, OptimizersTest,
                         testing::Combine(testing::ValuesIn(test::rule_cases()), testing::Values(directly)),
                         title);

INSTANTIATE_TEST_SUITE_P(RulesElsewise, OptimizersTest,
                         testing::Combine(testing::ValuesIn(test::cases_for(test::Part::rules,
                                                                            test::rule_cases())),
                                          testing::Values(staged, in_two_levels)),
                         title);

INSTANTIATE_TEST_SUITE_P(TwoLevels, OptimizersTest,
                         testing::Combine(testing::ValuesIn(test::cases_for(test::Part::two_levels)),
                                          testing::Values(in_two_levels, staged_in_two_levels)),
                         title);

INSTANTIATE_TEST_SUITE_P(Formats, OptimizersTest,
                         testing::Combine(testing::ValuesIn(test::format_cases()), testing::Values(directly)),
                         title);

}  // namespace
}  // namespace kadam
