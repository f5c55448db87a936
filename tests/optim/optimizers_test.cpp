// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <reference/optimizers.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>

/// Distributed runs equal simulated ones, on 1 to 4 ranks, directly and staged; and the parameters are
/// bitwise equal on all ranks after every step.
namespace kadam {
namespace {

using Step = std::function<void(std::vector<float>&, const std::vector<std::vector<float>>&)>;
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct Case {
  const char* title;
  const char* name;
  OptionMap options;
  Step (*reference)(int ranks, std::int64_t d, const Ranges& tensors);
};

constexpr std::int64_t warmup = 4;

template <class Optimizer>
Step as_step(Optimizer optimizer) {
  return [optimizer](auto& x, const auto& g) mutable { optimizer.step(x, g); };
}

const Case cases[] = {
    {"adam",
     "adam",
     {{"lr", 0.01}, {"weight_decay", 0.05}},
     [](int, std::int64_t d, const Ranges&) { return as_step(reference::Adam({.weight_decay = 0.05}, d)); }},
    {"adam_uncorrected",
     "adam",
     {{"lr", 0.01}, {"bias_correction", false}},
     [](int, std::int64_t d, const Ranges&) {
       return as_step(reference::Adam({.bias_correction = false}, d));
     }},
    {"lamb",
     "lamb",
     {{"lr", 0.01}, {"weight_decay", 0.01}},
     [](int, std::int64_t d, const Ranges& tensors) {
       return as_step(reference::Lamb({.weight_decay = 0.01}, tensors, d));
     }},
    {"onebit_adam",
     "onebit_adam",
     {{"lr", 0.01}, {"warmup_steps", warmup}, {"weight_decay", 0.05}},
     [](int n, std::int64_t d, const Ranges&) {
       return as_step(reference::FrozenVarianceAdam({.weight_decay = 0.05}, {}, warmup, n, d));
     }},
    {"onebit_adam_one_scale",
     "onebit_adam",
     {{"lr", 0.01}, {"warmup_steps", warmup}, {"block", std::int64_t{0}}, {"scale", std::string("mean_abs")}},
     [](int n, std::int64_t d, const Ranges&) {
       return as_step(reference::FrozenVarianceAdam({}, {.mean_abs = true, .block = 0}, warmup, n, d));
     }},
    {"apmsqueeze_2",
     "apmsqueeze",
     {{"lr", 0.01}, {"warmup_steps", warmup}, {"bits", std::int64_t{2}}, {"block", std::int64_t{64}}},
     [](int n, std::int64_t d, const Ranges&) {
       return as_step(
           reference::FrozenVarianceAdam({.bias_correction = false}, {.bits = 2, .block = 64}, warmup, n, d));
     }},
    {"apmsqueeze_8",
     "apmsqueeze",
     {{"lr", 0.01}, {"warmup_steps", warmup}, {"bits", std::int64_t{8}}},
     [](int n, std::int64_t d, const Ranges&) {
       return as_step(reference::FrozenVarianceAdam({.bias_correction = false}, {.bits = 8}, warmup, n, d));
     }},
};

class OptimizersTest : public testing::TestWithParam<std::tuple<Case, Staging>> {};

/// A sign decided within rounding of zero may flip: a few coordinates may be off, not more.
std::size_t coordinates_off(const std::vector<float>& got, const std::vector<float>& wanted) {
  std::size_t off = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!(std::fabs(got[i] - wanted[i]) <= 1e-4F * (0.01F + std::fabs(wanted[i])))) ++off;
  }
  return off;
}

TEST_P(OptimizersTest, EqualsSimulatedRanksAndReplicasStayEqual) {
  const Case& test_case = std::get<0>(GetParam());
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD, std::get<1>(GetParam()));
  const int n = communicator->size();
  for (const std::int64_t d : {3, 301, 9000}) {
    const TensorLayout layout({{"a", 0, d / 3}, {"none", d / 3, d / 3}, {"b", d / 3, d}});
    const Step expected = test_case.reference(n, d, {{0, d / 3}, {d / 3, d}});
    const auto optimizer = make_optimizer(test_case.name, test_case.options, layout, communicator);
    std::vector<float> x = test::random_vector(d, 2);
    const auto parameters = test::to_device(x);
    for (std::int64_t t = 1; t <= 12; ++t) {
      std::vector<std::vector<float>> all;
      for (int r = 0; r < n; ++r) all.push_back(test::random_gradient(d, r, t));
      expected(x, all);
      const auto g = test::to_device(all[static_cast<std::size_t>(communicator->rank())]);
      const ByteCounters before = communicator->bytes_sent();
      const StepResult result = optimizer->step(ExecutionSpace{}, parameters, g);
      Kokkos::fence();
      const auto got = test::to_host(parameters);
      EXPECT_TRUE(test::bitwise_equal(got, test::from_rank_zero(got))) << "replicas differ at step " << t;
      EXPECT_LE(coordinates_off(got, x), got.size() / 200) << "d " << d << " step " << t;
      const ByteCounters& after = communicator->bytes_sent();
      const BytesPerStep stated = optimizer->bytes_per_step();
      EXPECT_EQ(
          after.total() - before.total() - (after.sent(Traffic::control) - before.sent(Traffic::control)),
          result.phase == std::string("compressed") ? stated.steady : stated.warmup);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, OptimizersTest,
                         testing::Combine(testing::ValuesIn(cases),
                                          testing::Values(Staging::automatic, Staging::always)),
                         [](const auto& test_info) {
                           return std::string(std::get<0>(test_info.param).title) +
                                  (std::get<1>(test_info.param) == Staging::always ? "_staged" : "");
                         });

}  // namespace
}  // namespace kadam
