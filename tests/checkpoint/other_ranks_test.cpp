// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <optim/optimizer_cases.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/shared_folder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

/// On another number of ranks, or on as many in other nodes, nothing that is owed is lost: for every vector
/// of the state, the mean over those who have one is what it was, errors of workers and servers taken
/// together. And training goes on from there.
namespace kadam::other_ranks_test {
namespace {

using test::OptimizerCase;

constexpr std::int64_t d = 1500;
constexpr std::int64_t steps_before = 13;
constexpr std::int64_t steps_after = 7;
const TensorLayout layout({{"a", 0, 500, {20, 25}}, {"b", 500, d}});

/// The state as if it were one vector of each kind: the mean over the copies, from all ranks.
using Whole = std::map<std::string, std::vector<double>>;

void add(Whole& whole, const StateVector& field) {
  const bool is_error = field.name == "worker_error" || field.name == "server_error";
  // Where the parameters are those of each rank, what they have in common counts.
  std::vector<double>& sum = whole[is_error ? "errors" : field.name];
  sum.resize(static_cast<std::size_t>(field.placement.elements));
  const bool counts = field.placement.holder == 0;
  const std::vector<float> values = test::to_host(field.values);
  for (std::size_t i = 0; counts && i < values.size(); ++i) {
    sum[static_cast<std::size_t>(field.placement.range.begin) + i] +=
        static_cast<double>(values[i]) / field.placement.copies;
  }
}

/// Collective over MPI_COMM_WORLD; optimizer is null on ranks that have no part in it.
Whole whole_state(Optimizer* optimizer, const Vector<float>& parameters) {
  Whole whole;
  if (optimizer != nullptr) {
    const ExecutionSpace exec;
    const StateFields state = optimizer->state_to_save(exec, parameters);
    exec.fence();
    for (const StateVector& field : state.vectors()) {
      if (field.if_missing != StateVector::IfMissing::add) add(whole, field);
    }
    if (state.common_parameters()) add(whole, *state.common_parameters());
  }
  for (const char* name : {"parameters", "x", "m", "v", "w", "errors", "error", "residual", "in_flight",
                           "arriving", "u", "sent", "outer_momentum", "variance_snapshot", "variance_mean",
                           "variance_rows", "variance_columns", "variance_others"}) {
    std::vector<double>& values = whole[name];
    values.resize(static_cast<std::size_t>(d));
    values = test::sum_over_ranks(values);
  }
  return whole;
}

double largest(const std::vector<double>& values) {
  double size = 0.0;
  for (const double value : values) size = std::max(size, std::fabs(value));
  return size;
}

/// error_rounding: of errors in bf16, whose mean over ranks is rounded once, on both sides.
void expect_conserved(const Whole& after, const Whole& before, double error_rounding) {
  for (const auto& [name, wanted] : before) {
    if (wanted.size() != static_cast<std::size_t>(d)) continue;
    const std::vector<double>& got = after.at(name);
    // Of LoCo's error, which is kept in 8 bits.
    const double rounding = name == "error" ? 1.0 / 200 : name == "errors" ? error_rounding : 1e-6;
    const double tolerance = rounding * largest(wanted);
    // What all ranks work with follows from x and the rest where there is an x; in bf16, that is rounded.
    if (name == "parameters" && largest(before.at("x")) > 0.0) continue;
    // A mean of variances is on its way between ranks: one rank alone has none to wait for.
    if ((name == "variance_snapshot" || name == "variance_mean") && largest(got) == 0.0) continue;
    // x is there only where ranks work ahead of it: elsewhere it lies in the parameters.
    if (name == "x" && largest(wanted) == 0.0) continue;
    if (name == "x" && largest(got) == 0.0) {
      for (std::size_t i = 0; i < wanted.size(); ++i)
        ASSERT_NEAR(after.at("parameters")[i], wanted[i], tolerance);
      continue;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(got[i], wanted[i], tolerance) << name << " " << i;
  }
}

/// So many ranks, and so many of them in a node; 1: in one level.
struct Ranks {
  int count;
  int per_node = 1;
};

struct Change {
  Ranks from;
  Ranks to;
};

class OtherRanksTest : public testing::TestWithParam<std::tuple<OptimizerCase, Change>> {
 protected:
  /// Null on the ranks that have no part in it.
  [[nodiscard]] std::shared_ptr<Communicator> first_ranks(const Ranks& ranks) const {
    const bool takes_part = world_->rank() < ranks.count;
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, 0, &part);
    if (!takes_part) return nullptr;
    auto communicator = make_mpi_communicator(part, test::mpi_options(Staging::automatic, ranks.per_node));
    MPI_Comm_free(&part);
    return communicator;
  }

  [[nodiscard]] static std::unique_ptr<Optimizer> make(const std::shared_ptr<Communicator>& communicator) {
    const OptimizerCase& one = std::get<0>(GetParam());
    if (communicator == nullptr) return nullptr;
    return make_optimizer(one.name, test::options_that_agree(one), layout, communicator);
  }

  /// Of |x - 1|^2 / 2 and what makes each batch another.
  [[nodiscard]] static Vector<const float> gradient(const Vector<float>& x, int rank, std::int64_t t) {
    std::vector<float> values = test::to_host(x);
    const std::vector<float> noise = test::random_gradient(d, rank, t);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.02F * std::tanh(noise[i]) - 1.0F;
    return test::to_device(values);
  }

  static double loss(const std::vector<float>& x) {
    double sum = 0.0;
    for (const float value : x) sum += 0.5 * (value - 1.0F) * (value - 1.0F);
    return sum;
  }

  void train(Optimizer& optimizer, const Vector<float>& x, std::int64_t first, std::int64_t last) const {
    for (std::int64_t t = first; t <= last; ++t) {
      exec_.fence();
      (void)optimizer.step(exec_, x, gradient(x, optimizer.communicator().rank(), t));
    }
    exec_.fence();
  }

  [[nodiscard]] std::vector<float> consensus(Optimizer& optimizer, const Vector<float>& x) const {
    const auto out = allocate<float>(exec_, "consensus", d);
    optimizer.write_consensus(exec_, x, out);
    exec_.fence();
    return test::to_host(out);
  }

  /// As many ranks: each has its own parameters back, and the next step is that of the uninterrupted run but
  /// for what another code of the same momentum rounds off.
  void expect_close(Optimizer& saved, const Vector<float>& parameters, Optimizer& resumed,
                    const Vector<float>& x) const {
    EXPECT_TRUE(test::bitwise_equal(test::to_host(x), test::to_host(parameters)));
    const std::vector<float> start = consensus(saved, parameters);
    train(saved, parameters, steps_before + 1, steps_before + 1);
    train(resumed, x, steps_before + 1, steps_before + 1);
    const std::vector<float> wanted = consensus(saved, parameters);
    const std::vector<float> got = consensus(resumed, x);
    double way = 0.0;
    double off = 0.0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      way += std::pow(static_cast<double>(wanted[i]) - start[i], 2);
      off += std::pow(static_cast<double>(got[i]) - wanted[i], 2);
    }
    const OptimizerTraits& traits = optimizer_traits(saved.name());
    const bool rounds = !traits.codes.empty();
    // With moments of its own a rank sends the step itself, and the code rounds all of it; elsewhere a part
    // of a momentum.
    const double limit = !rounds ? 1e-5 : traits.local_moments ? 0.2 : 0.05;
    EXPECT_GT(way, 0.0);
    EXPECT_LE(std::sqrt(off), limit * std::sqrt(way));
  }

  const ExecutionSpace exec_;
  std::shared_ptr<Communicator> world_ = make_mpi_communicator(MPI_COMM_WORLD);
  test::SharedFolder folder_;
};

TEST_P(OtherRanksTest, LoseNothingAndGoOn) {
  const auto [from, to] = std::get<1>(GetParam());
  const int most = std::max(from.count, to.count);
  if (world_->size() < most) GTEST_SKIP() << "needs " << most << " ranks";
  const auto parameters = test::to_device(std::vector<float>(d, 0.0F));
  const std::shared_ptr<Communicator> before = first_ranks(from);
  std::filesystem::path path;
  double loss_before = 0.0;
  double loss_after = 0.0;
  const auto saved = make(before);
  if (saved != nullptr) {
    train(*saved, parameters, 1, steps_before);
    EXPECT_TRUE(saved->step(exec_, parameters, test::to_device(std::vector<float>(d, NAN))).skipped);
    path = checkpoint::save(exec_, *saved, parameters, folder_.path());
    loss_before = loss(consensus(*saved, parameters));
  }
  const Whole owed_before = whole_state(saved.get(), parameters);

  const std::shared_ptr<Communicator> after = first_ranks(to);
  const auto resumed = make(after);
  const auto x = test::to_device(std::vector<float>(d, 1e30F));
  if (resumed != nullptr) {
    // Other ranks wait below, whatever happens here.
    try {
      const auto restored = checkpoint::restore_newest(exec_, *resumed, x, folder_.path());
      EXPECT_TRUE(restored.has_value() && restored->step == steps_before);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  const Whole owed_after = whole_state(resumed.get(), x);
  const bool is_short = std::get<0>(GetParam()).options.contains("errors");
  expect_conserved(owed_after, owed_before, is_short ? 1.0 / 128 : 1e-6);
  // All ranks stop where one found something: none waits for the others below.
  if (world_->sum_over_ranks(HasFailure() ? 1.0 : 0.0) > 0.0) return;

  if (resumed != nullptr) {
    EXPECT_EQ(resumed->steps_skipped(), 1);
    const double loss_at_start = loss(consensus(*resumed, x));
    if (saved != nullptr) {
      EXPECT_NEAR(loss_at_start, loss_before, 1e-3 * loss_before);
    }
    if (from.count == to.count) {
      expect_close(*saved, parameters, *resumed, x);
    } else {
      train(*resumed, x, steps_before + 1, steps_before + 1);
    }
    EXPECT_LE(loss(consensus(*resumed, x)), 1.1 * loss_at_start) << "a jump";
    train(*resumed, x, steps_before + 2, steps_before + steps_after);
    const double last = loss(consensus(*resumed, x));
    for (const double of_rank : after->all_gather_values({&last, 1})) EXPECT_EQ(of_rank, last);
    loss_after = last;
  }
  // Not worse than without a change.
  if (saved == nullptr) return;
  train(*saved, parameters, saved->steps_taken() + 1, steps_before + steps_after);
  const double undisturbed = loss(consensus(*saved, parameters));
  if (resumed != nullptr) {
    EXPECT_LE(loss_after, 1.0 + 2.0 * undisturbed);
  }
}

std::vector<OptimizerCase> cases() {
  return test::cases_for(test::Part::other_ranks);
}

std::string title(const testing::TestParamInfo<OtherRanksTest::ParamType>& test_info) {
  const auto text = [](const Ranks& ranks) {
    const int nodes = ranks.count / ranks.per_node;
    return ranks.per_node == 1 ? std::to_string(ranks.count)
                               : std::to_string(nodes) + "x" + std::to_string(ranks.per_node);
  };
  const auto& [from, to] = std::get<1>(test_info.param);
  return std::get<0>(test_info.param).title + "_" + text(from) + "_to_" + text(to);
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, OtherRanksTest,
                         testing::Combine(testing::ValuesIn(cases()),
                                          testing::Values(Change{{4}, {2}}, Change{{2}, {3}},
                                                          Change{{1}, {4}}, Change{{4}, {1}})),
                         title);
INSTANTIATE_TEST_SUITE_P(OtherNodes, OtherRanksTest,
                         testing::Combine(testing::ValuesIn(cases()),
                                          testing::Values(Change{{4}, {4, 2}}, Change{{4, 2}, {4}},
                                                          Change{{4}, {4, 4}}, Change{{4, 4}, {4, 2}},
                                                          Change{{4, 2}, {2}}, Change{{2, 2}, {2}})),
                         title);

/// One rank sends nothing, and quantises nothing: what several owed comes with its first gradient.
TEST(LocoOnOneRank, DeliversWhatSeveralOwed) {
  const ExecutionSpace exec;
  const auto world = make_mpi_communicator(MPI_COMM_WORLD);
  if (world->size() == 1) GTEST_SKIP() << "one rank owes nothing";
  const test::SharedFolder folder;
  const auto x = test::to_device(test::random_vector(d, 2));
  const auto several = make_optimizer("loco", {}, layout, world);
  for (std::int64_t t = 1; t <= 3; ++t)
    (void)several->step(exec, x, test::to_device(test::random_gradient(d, world->rank(), t)));
  (void)checkpoint::save(exec, *several, x, folder.path());
  const auto one = make_optimizer("loco", {}, layout, make_mpi_communicator(MPI_COMM_SELF));
  ASSERT_TRUE(checkpoint::restore_newest(exec, *one, x, folder.path()).has_value());
  const auto state = [&](const std::string& name) {
    const StateFields fields = one->state_to_save(exec, x);
    exec.fence();
    for (const StateVector& field : fields.vectors()) {
      if (field.name == name) return test::to_host(field.values);
    }
    return std::vector<float>();
  };
  const std::vector<float> owed = state("error");
  const std::vector<float> before = state("m");
  (void)one->step(exec, x, allocate_zeros<float>(exec, "zeros", d));
  const std::vector<float> after = state("m");
  ASSERT_EQ(owed.size(), before.size());
  float largest_owed = 0.0F;
  for (std::size_t i = 0; i < owed.size(); ++i) {
    largest_owed = std::max(largest_owed, std::fabs(owed[i]));
    ASSERT_NEAR(after[i], 0.9F * before[i] + 0.1F * owed[i], 1e-5F * (1.0F + std::fabs(before[i]))) << i;
  }
  EXPECT_GT(largest_owed, 1e-3F);
}

}  // namespace
}  // namespace kadam::other_ranks_test
