// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>
#include <reference/frozen_variance_adam.hpp>
#include <support/host_views.hpp>
#include <support/optimizers_that.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace kadam {
namespace {

constexpr std::int64_t d = 301;
const TensorLayout layout({{"a", 0, 100}, {"empty", 100, 100}, {"b", 100, d}});

/// With one rank the compressed mean is the identity: no MPI is needed, and none may be built in.
TEST(OneRank, FrozenVarianceAdamCompressesNothing) {
  for (const char* name : {"onebit_adam", "apmsqueeze"}) {
    const OptionMap options = {{"lr", 0.01}, {"warmup_steps", 3}, {"weight_decay", 0.02}};
    const auto optimizer = make_optimizer(name, options, layout, Communicator::self());
    const bool correction = std::get<bool>(optimizer->options().at("bias_correction"));
    reference::FrozenVarianceAdam expected({.lr = 0.01, .weight_decay = 0.02, .bias_correction = correction},
                                           {}, 3, 1, d);
    std::vector<float> x = test::random_vector(d, 2);
    const auto parameters = test::to_device(x);
    for (std::int64_t t = 1; t <= 10; ++t) {
      const auto g = test::random_gradient(d, 0, t);
      expected.step(x, {g});
      const StepResult result = optimizer->step(ExecutionSpace{}, parameters, test::to_device(g));
      EXPECT_STREQ(result.phase, t <= 3 ? "warm-up" : "compressed");
    }
    Kokkos::fence();
    const auto got = test::to_host(parameters);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], x[i], 1e-5F * (1.0F + std::fabs(x[i]))) << name << i;
    EXPECT_EQ(optimizer->communicator().bytes_sent().total(), 0U);
  }
}

TEST(OneRank, AutomaticWarmUpFreezesOnceTheVarianceIsStable) {
  const OptionMap options = {{"warmup_steps", "auto"}, {"beta2", 0.9}};
  const auto optimizer = make_optimizer("onebit_adam", options, layout, Communicator::self());
  const auto parameters = test::to_device(test::random_vector(d, 2));
  std::int64_t frozen_after = 0;
  for (std::int64_t t = 1; t <= 100; ++t) {
    // Gradients grow until step 40, then stay.
    auto g = test::random_vector(d, 77);
    for (float& value : g) value *= static_cast<float>(std::min<std::int64_t>(t, 40));
    const StepResult result = optimizer->step(ExecutionSpace{}, parameters, test::to_device(g));
    if (result.phase == std::string("warm-up")) frozen_after = t;
  }
  EXPECT_GT(frozen_after, 40);
  EXPECT_LT(frozen_after, 80);
}

TEST(OneRank, AutomaticWarmUpEndsAsEarlyAsItMayWhereGradientsAreAlike) {
  // Delta = 10. Without bias correction the variance of equal gradients would still fill at step 20.
  const OptionMap options = {{"warmup_steps", "auto"}, {"beta2", 0.9}};
  for (const std::string& name : test::optimizers_that_take(options)) {
    const auto optimizer = make_optimizer(name, options, layout, Communicator::self());
    const auto parameters = test::to_device(test::random_vector(d, 2));
    const auto gradient = test::to_device(test::random_vector(d, 77));
    std::int64_t frozen_after = 0;
    for (std::int64_t t = 1; t <= 40; ++t) {
      const StepResult result = optimizer->step(ExecutionSpace{}, parameters, gradient);
      if (result.phase == std::string("warm-up")) frozen_after = t;
    }
    EXPECT_EQ(frozen_after, 20) << name;
  }
}

TEST(OneRank, NoParametersAreNoProblem) {
  for (const std::string& name : optimizer_names()) {
    const auto optimizer = make_optimizer(name, test::options_with_warmup(name, 1),
                                          TensorLayout({{"empty", 0, 0}}), Communicator::self());
    const Vector<float> nothing("nothing", 0);
    for (int t = 0; t < 3; ++t) EXPECT_NO_THROW(optimizer->step(ExecutionSpace{}, nothing, nothing)) << name;
  }
}

TEST(OneRank, ZeroLearningRateLeavesParametersAlone) {
  for (const std::string& name : optimizer_names()) {
    OptionMap options = test::options_with_warmup(name, 2);
    options["lr"] = 0.0;
    options["weight_decay"] = 0.1;
    const auto optimizer = make_optimizer(name, options, layout, Communicator::self());
    const auto x = test::random_vector(d, 2);
    const auto parameters = test::to_device(x);
    for (std::int64_t t = 1; t <= 4; ++t) {
      optimizer->step(ExecutionSpace{}, parameters, test::to_device(test::random_gradient(d, 0, t)));
    }
    EXPECT_EQ(test::to_host(parameters), x) << name;
  }
}

TEST(OneRank, WrongExtentsNameTheViewAndBothSizes) {
  const auto optimizer = make_optimizer("adam", {}, layout, Communicator::self());
  const Vector<float> parameters("my_parameters", d);
  const Vector<float> gradient("my_gradient", d - 1);
  try {
    optimizer->step(ExecutionSpace{}, parameters, gradient);
    FAIL() << "accepted a gradient that is too short";
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("'my_gradient' has 300 elements, the tensors have 301"), std::string::npos) << text;
  }
}

TEST(OneRank, UnmanagedViewsOfTheCallerWork) {
  const auto optimizer =
      make_optimizer("adam", {{"lr", 0.5}}, TensorLayout({{"w", 0, 2}}), Communicator::self());
  const auto x = test::to_device(std::vector<float>{1.0F, 1.0F});
  const auto g = test::to_device(std::vector<float>{2.0F, -4.0F});
  const Kokkos::View<float*, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> unmanaged(x.data(), 2);
  const Kokkos::View<const float*, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> gradient(g.data(),
                                                                                                  2);
  optimizer->step(ExecutionSpace{}, unmanaged, gradient);
  Kokkos::fence();
  EXPECT_NEAR(test::to_host(x)[0], 0.5, 1e-6);
  EXPECT_NEAR(test::to_host(x)[1], 1.5, 1e-6);
}

TEST(OneRank, StatedMemoryIsWhatIsAllocated) {
  const auto adam = make_optimizer("adam", {}, layout, Communicator::self());
  EXPECT_EQ(adam->memory().state_bytes, 8U * d);
  const auto onebit = make_optimizer("onebit_adam", {{"warmup_steps", 5}}, layout, Communicator::self());
  EXPECT_EQ(onebit->memory().state_bytes, 12U * d);
}

}  // namespace
}  // namespace kadam
