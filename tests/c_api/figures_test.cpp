// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <c_api/c_optimizer.hpp>
#include <kadam/c_api/optimizer.hpp>
#include <support/mpi_world.hpp>
#include <support/optimizers_that.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

/// Every figure comes to C in the field that has its name: runs whose figures all differ, beside the plan and
/// the optimizer that C holds.
namespace kadam::test {
namespace {

struct FigureRun {
  std::string title;
  std::string name;
  OptionMap options;
  int ranks_per_node = 1;
};

std::ostream& operator<<(std::ostream& out, const FigureRun& run) {
  return out << run.title;
}

/// Between them they send every kind of traffic, and have every figure of health.
std::vector<FigureRun> figure_runs() {
  const OptionMap sparse = {{"warmup_steps", 2},
                            {"density", 0.05},
                            {"background_steps", 3},
                            {"variance_sync_interval", 4},
                            {"variance_delay", 2}};
  OptionMap at_once = sparse;
  at_once["variance_delay"] = 0;
  const OptionMap warmup = {{"warmup_steps", 4}};
  std::vector<FigureRun> runs = {{"sparse_delayed", "divisible_adam", sparse},
                                 {"sparse_two_levels", "divisible_adam", at_once, 2},
                                 {"frozen", "onebit_adam", warmup},
                                 {"frozen_two_levels", "onebit_adam", warmup, 2},
                                 {"loco_two_levels", "loco", {{"clip_norm", 0.5}}, 2},
                                 {"dense", "adam", {}}};
  const auto spread_and_code = [](const OptimizerTraits& traits) {
    return traits.local_moments && !traits.codes.empty();
  };
  for (const std::string& name : optimizers_that(spread_and_code)) {
    runs.push_back({"coded_" + name, name, options_that_agree(name, 4)});
  }
  return runs;
}

constexpr std::int64_t calls = 13;
constexpr std::int64_t skipped_calls[] = {6, 9};

using Sent = std::map<Traffic, std::size_t>;

class Figures : public testing::TestWithParam<FigureRun> {
 protected:
  Figures() : of_(GetParam().name, GetParam().options) {
    kadam_setup_real(of_.setup, "lr", 0.01);
    // A tensor that stays dense: a compressed step sends dense bytes as well.
    kadam_setup_group(of_.setup, "bias", 1.0, NAN, 1);
    kadam_setup_ranks_per_node(of_.setup, GetParam().ranks_per_node);
  }

  static int size() {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
  }
  /// Two levels need whole nodes.
  static bool fits() { return size() % GetParam().ranks_per_node == 0; }

  [[nodiscard]] Optimizer& optimizer() const { return *of_.optimizer->optimizer; }

  /// All steps, some of them with a NaN; adds what the plan says of each.
  Sent run() {
    Sent planned;
    for (std::int64_t call = 1; call <= calls; ++call) {
      std::vector<float> gradient = random_gradient(c_layout.elements(), world_rank(), call);
      const bool is_bad =
          std::find(std::begin(skipped_calls), std::end(skipped_calls), call) != std::end(skipped_calls);
      if (is_bad) gradient[17] = NAN;
      kadam_step_result result{};
      EXPECT_EQ(kadam_step(of_.optimizer, x_.data(), gradient.data(), &result, &of_.error), KADAM_SUCCESS)
          << of_.error.text;
      EXPECT_EQ(result.skipped, is_bad ? 1 : 0);
      if (is_bad) continue;
      for (const PlannedTraffic& part : optimizer().traffic_plan()) {
        if (part.phase == result.phase && (result.step - part.after) % part.every == 0)
          planned[part.traffic] += part.bytes;
      }
    }
    return planned;
  }

  COptimizer of_;
  std::vector<float> x_ = random_vector(c_layout.elements(), 7);
};

TEST_P(Figures, OfStatisticsAreInTheirFields) {
  if (!fits()) GTEST_SKIP() << "nodes of two need an even number of ranks";
  ASSERT_EQ(of_.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of_.error.text;
  ASSERT_EQ(kadam_measure_phases(of_.optimizer, 1, nullptr), KADAM_SUCCESS);
  kadam_statistics before{};
  ASSERT_EQ(kadam_get_statistics(of_.optimizer, &before, nullptr), KADAM_SUCCESS);
  EXPECT_EQ(before.encode_seconds, 0.0);
  const Sent planned = run();
  kadam_statistics got{};
  ASSERT_EQ(kadam_get_statistics(of_.optimizer, &got, nullptr), KADAM_SUCCESS);

  EXPECT_EQ(got.elements, 2003);
  EXPECT_EQ(got.steps_skipped, std::ssize(skipped_calls));
  EXPECT_EQ(got.steps_taken, calls - std::ssize(skipped_calls));
  EXPECT_EQ(got.state_bytes, optimizer().memory().state_bytes);
  EXPECT_EQ(got.workspace_bytes, optimizer().memory().workspace_bytes);

  const auto planned_of = [&](Traffic kind) {
    return planned.contains(kind) ? planned.at(kind) : std::size_t{0};
  };
  EXPECT_EQ(got.sent_dense_bytes, planned_of(Traffic::dense));
  EXPECT_EQ(got.sent_compressed_bytes, planned_of(Traffic::compressed));
  EXPECT_EQ(got.sent_sparse_bytes, planned_of(Traffic::sparse));
  EXPECT_EQ(got.sent_background_bytes, planned_of(Traffic::background));
  EXPECT_EQ(got.sent_node_bytes, planned_of(Traffic::node));
  // Norm and raised bits of every call, skipped ones too; a clipped step of loco adds a number.
  const bool clips = GetParam().options.contains("clip_norm");
  const auto others = static_cast<std::uint64_t>(size() - 1);
  const auto per_step = static_cast<std::uint64_t>(got.steps_taken) * (clips ? 8U : 0U);
  // Every other step of those that have rounds is one, in which ranks tell each other of their sums.
  const bool has_rounds = has_option(GetParam().name, "sync_interval");
  const std::uint64_t in_rounds = has_rounds ? static_cast<std::uint64_t>(got.steps_taken / 2) * 16U : 0U;
  EXPECT_EQ(got.sent_control_bytes - before.sent_control_bytes,
            others * (16U * static_cast<std::uint64_t>(calls) + per_step + in_rounds));
  EXPECT_EQ(got.sent_bytes, got.sent_control_bytes + got.sent_dense_bytes + got.sent_compressed_bytes +
                                got.sent_sparse_bytes + got.sent_background_bytes + got.sent_node_bytes);

  const Phases::Seconds& seconds = optimizer().phases().seconds();
  EXPECT_EQ(got.check_seconds, seconds[static_cast<std::size_t>(Phase::check)]);
  EXPECT_EQ(got.encode_seconds, seconds[static_cast<std::size_t>(Phase::encode)]);
  EXPECT_EQ(got.exchange_seconds, seconds[static_cast<std::size_t>(Phase::exchange)]);
  EXPECT_EQ(got.decode_seconds, seconds[static_cast<std::size_t>(Phase::decode)]);
  EXPECT_GT(got.check_seconds, 0.0);
  EXPECT_GT(got.decode_seconds, 0.0);
}

/// Whether two fields were swapped can be seen only where their figures differ.
TEST_P(Figures, DifferWhereTheyAreNotZero) {
  if (!fits() || size() == 1) GTEST_SKIP() << "one rank sends nothing";
  ASSERT_EQ(of_.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of_.error.text;
  (void)run();
  kadam_statistics got{};
  ASSERT_EQ(kadam_get_statistics(of_.optimizer, &got, nullptr), KADAM_SUCCESS);
  std::vector<std::uint64_t> figures = {
      static_cast<std::uint64_t>(got.elements),
      static_cast<std::uint64_t>(got.steps_taken),
      static_cast<std::uint64_t>(got.steps_skipped),
      got.state_bytes,
      got.workspace_bytes,
      got.sent_bytes,
      got.sent_control_bytes,
      got.sent_dense_bytes,
      got.sent_compressed_bytes,
      got.sent_sparse_bytes,
      got.sent_background_bytes,
      got.sent_node_bytes,
  };
  std::erase(figures, 0U);
  std::sort(figures.begin(), figures.end());
  EXPECT_EQ(std::adjacent_find(figures.begin(), figures.end()), figures.end());
  const std::string& title = GetParam().title;
  EXPECT_EQ(got.sent_sparse_bytes > 0, title.starts_with("sparse"));
  EXPECT_EQ(got.sent_background_bytes > 0, title.starts_with("sparse"));
  EXPECT_EQ(got.sent_node_bytes > 0, title.ends_with("two_levels"));
  const bool has_codes = !optimizer_traits(GetParam().name).codes.empty();
  // With one node of two ranks, nothing goes between nodes; what is sparse knows no nodes.
  const bool has_peers = size() > GetParam().ranks_per_node;
  EXPECT_EQ(got.sent_dense_bytes > 0, has_peers);
  EXPECT_EQ(got.sent_compressed_bytes > 0, has_codes && has_peers);
}

TEST_P(Figures, OfHealthAreInTheirFields) {
  if (!fits()) GTEST_SKIP() << "nodes of two need an even number of ranks";
  ASSERT_EQ(of_.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of_.error.text;
  (void)run();
  // Nothing is on its way any more, whose seconds would go on between two calls.
  const Vector<float> own("x", x_.size());
  (void)optimizer().state_to_save(of_.optimizer->exec, own);
  kadam_health got{};
  ASSERT_EQ(kadam_get_health(of_.optimizer, &got, &of_.error), KADAM_SUCCESS) << of_.error.text;
  const Health wanted = optimizer().health(of_.optimizer->exec);
  const auto expect_figure = [](const char* what, double figure, const std::optional<double>& value) {
    EXPECT_EQ(std::isnan(figure), !value.has_value()) << what;
    if (value) {
      EXPECT_EQ(figure, *value) << what;
    }
  };
  expect_figure("error_ratio", got.error_ratio, wanted.error_ratio);
  expect_figure("variance_drift", got.variance_drift, wanted.variance_drift);
  expect_figure("variance_spread", got.variance_spread, wanted.variance_spread);
  expect_figure("support_overlap", got.support_overlap, wanted.support_overlap);
  expect_figure("background_hidden", got.background_hidden, wanted.background_hidden);
  EXPECT_EQ(got.inactive_fraction, wanted.inactive_fraction);
  expect_figure("largest_step", got.largest_step,
                wanted.largest_step ? std::optional(wanted.largest_step->over_learning_rate) : std::nullopt);
  EXPECT_EQ(got.largest_step_tensor, wanted.largest_step ? wanted.largest_step->tensor : -1);

  // Who has which, on several ranks.
  if (size() <= GetParam().ranks_per_node) return;
  const OptimizerTraits& traits = optimizer_traits(GetParam().name);
  EXPECT_EQ(!std::isnan(got.error_ratio), !traits.codes.empty());
  EXPECT_EQ(!std::isnan(got.variance_drift), traits.freezes);
  EXPECT_EQ(!std::isnan(got.variance_spread), traits.local_moments);
  EXPECT_LE(traits.freezes, !std::isnan(got.largest_step));
  EXPECT_EQ(!std::isnan(got.support_overlap), traits.sparse);
  EXPECT_EQ(!std::isnan(got.background_hidden), traits.sparse);  // all these cases send in the background
  if (traits.freezes) {
    EXPECT_GT(got.inactive_fraction, 0.05);
    EXPECT_LT(got.inactive_fraction, 0.2);
  }
  if (traits.sparse) {
    const std::array<double, 3> figures = {got.variance_spread, got.support_overlap, got.background_hidden};
    EXPECT_NE(figures[0], figures[1]);
    EXPECT_NE(figures[1], figures[2]);
    EXPECT_NE(figures[0], figures[2]);
  }
}

TEST_P(Figures, AreUnknownBeforeTheFirstStep) {
  if (!fits()) GTEST_SKIP() << "nodes of two need an even number of ranks";
  ASSERT_EQ(of_.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of_.error.text;
  kadam_health got{};
  ASSERT_EQ(kadam_get_health(of_.optimizer, &got, nullptr), KADAM_SUCCESS);
  for (const double figure : {got.error_ratio, got.variance_drift, got.variance_spread, got.support_overlap,
                              got.background_hidden, got.largest_step}) {
    EXPECT_TRUE(std::isnan(figure));
  }
  EXPECT_EQ(got.largest_step_tensor, -1);
  EXPECT_FALSE(std::isnan(got.inactive_fraction));
}

/// Of what is switched off nothing is measured; and of what is on, seconds are those of the last step alone.
TEST(PhaseSeconds, AreThereWhenTheyAreAskedFor) {
  COptimizer of("onebit_adam", {{"warmup_steps", 1}});
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  std::vector<float> x = random_vector(c_layout.elements(), 7);
  std::vector<float> gradient = random_gradient(c_layout.elements(), world_rank(), 1);
  const auto seconds = [&] {
    kadam_statistics got{};
    EXPECT_EQ(kadam_step(of.optimizer, x.data(), gradient.data(), nullptr, nullptr), KADAM_SUCCESS);
    EXPECT_EQ(kadam_get_statistics(of.optimizer, &got, nullptr), KADAM_SUCCESS);
    return std::array<double, 4>{got.check_seconds, got.encode_seconds, got.exchange_seconds,
                                 got.decode_seconds};
  };
  EXPECT_EQ(seconds(), (std::array<double, 4>{}));
  ASSERT_EQ(kadam_measure_phases(of.optimizer, 1, nullptr), KADAM_SUCCESS);
  const std::array<double, 4> whole = seconds();
  EXPECT_GT(whole[0], 0.0);
  EXPECT_GT(whole[1], 0.0);
  EXPECT_GT(whole[3], 0.0);
  // A step that is skipped ends after the check.
  gradient[3] = NAN;
  const std::array<double, 4> skipped = seconds();
  EXPECT_GT(skipped[0], 0.0);
  EXPECT_EQ(skipped[1], 0.0);
  EXPECT_EQ(skipped[2], 0.0);
  EXPECT_EQ(skipped[3], 0.0);
  ASSERT_EQ(kadam_measure_phases(of.optimizer, 0, nullptr), KADAM_SUCCESS);
  EXPECT_EQ(seconds(), (std::array<double, 4>{}));
}

INSTANTIATE_TEST_SUITE_P(CApi, Figures, testing::ValuesIn(figure_runs()),
                         [](const auto& one) { return one.param.title; });

}  // namespace
}  // namespace kadam::test
