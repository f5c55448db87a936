// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <c_api/c_optimizer.hpp>
#include <kadam/caller/caller_vectors.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/gradients.hpp>
#include <support/mpi_world.hpp>
#include <support/optimizers_that.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

#include <cmath>
#include <cstring>

/// The same numbers through C as through C++, to the last bit.
namespace kadam::test {
namespace {

constexpr std::int64_t steps = 12;

std::int64_t d() {
  return c_layout.elements();
}

OptionMap options_of(const std::string& name) {
  OptionMap options = options_with_warmup(name, 4);
  options["lr"] = 0.01;
  return options;
}

/// Steps and a flush by C++.
std::vector<float> by_cpp(const std::string& name, const OptionMap& options,
                          const std::vector<ParameterGroup>& groups = {}) {
  const ExecutionSpace exec;
  const auto optimizer =
      make_optimizer(name, options, c_layout, make_mpi_communicator(MPI_COMM_WORLD), groups);
  const Vector<float> x = to_device(random_vector(d(), 7));
  const auto format = options.count("gradients") != 0 ? std::get<std::string>(options.at("gradients")) : "";
  for (std::int64_t t = 1; t <= steps; ++t)
    optimizer->step(exec, x, to_gradient(format, random_gradient(d(), world_rank(), t)));
  optimizer->flush(exec, x);
  exec.fence();
  return to_host(x);
}

template <Number T>
std::vector<T> rounded(const std::vector<float>& values) {
  std::vector<T> all;
  for (const float value : values) all.push_back(round_to<T>(value));
  return all;
}

std::vector<float> by_c(COptimizer& of) {
  std::vector<float> x = random_vector(d(), 7);
  for (std::int64_t t = 1; t <= steps; ++t) {
    const std::vector<float> gradient = random_gradient(d(), world_rank(), t);
    EXPECT_EQ(kadam_step(of.optimizer, x.data(), gradient.data(), nullptr, &of.error), KADAM_SUCCESS)
        << of.error.text;
  }
  EXPECT_EQ(kadam_flush(of.optimizer, x.data(), &of.error), KADAM_SUCCESS);
  return x;
}

class EveryOptimizer : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(CApi, EveryOptimizer, testing::ValuesIn(optimizer_names()),
                         [](const auto& one) { return one.param; });

TEST_P(EveryOptimizer, TakesTheStepsOfCpp) {
  COptimizer of(GetParam(), options_of(GetParam()));
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  EXPECT_TRUE(bitwise_equal(by_c(of), by_cpp(GetParam(), options_of(GetParam()))));
}

TEST(CApi, TellsTheFormatOfGradients) {
  for (const auto& [word, format] : {std::pair<std::string, kadam_format>("float32", KADAM_FLOAT32),
                                     std::pair<std::string, kadam_format>("bf16", KADAM_BFLOAT16),
                                     std::pair<std::string, kadam_format>("fp16", KADAM_FLOAT16)}) {
    OptionMap options = options_of("adam");
    options["gradients"] = word;
    COptimizer of("adam", options);
    ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
    EXPECT_EQ(kadam_gradient_format(of.optimizer), format) << word;
  }
}

TEST(CApi, TakesHalfGradientsAndWritesAModel) {
  OptionMap options = options_of("onebit_adam");
  options["gradients"] = "bf16";
  COptimizer of("onebit_adam", options);
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  std::vector<float> x = random_vector(d(), 7);
  std::vector<Float16> model(x.size());
  ASSERT_EQ(kadam_set_model(of.optimizer, model.data(), KADAM_FLOAT16, nullptr), KADAM_SUCCESS);
  for (std::int64_t t = 1; t <= steps; ++t) {
    const auto gradient = rounded<Bfloat16>(random_gradient(d(), world_rank(), t));
    ASSERT_EQ(kadam_step(of.optimizer, x.data(), gradient.data(), nullptr, &of.error), KADAM_SUCCESS);
  }
  ASSERT_EQ(kadam_flush(of.optimizer, x.data(), nullptr), KADAM_SUCCESS);
  EXPECT_TRUE(bitwise_equal(x, by_cpp("onebit_adam", options)));
  const auto expected = rounded<Float16>(x);
  EXPECT_EQ(std::memcmp(model.data(), expected.data(), x.size() * sizeof(Float16)), 0);
}

TEST(CApi, TakesGradientsInFloat16) {
  OptionMap options = options_of("adam");
  options["gradients"] = "fp16";
  COptimizer of("adam", options);
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  std::vector<float> x = random_vector(d(), 7);
  for (std::int64_t t = 1; t <= steps; ++t) {
    const auto gradient = rounded<Float16>(random_gradient(d(), world_rank(), t));
    ASSERT_EQ(kadam_step(of.optimizer, x.data(), gradient.data(), nullptr, &of.error), KADAM_SUCCESS);
  }
  EXPECT_TRUE(bitwise_equal(x, by_cpp("adam", options)));
}

TEST(CApi, LeavesNoPointerToWhatIsGone) {
  COptimizer of("adam", options_of("adam"));
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  kadam_optimizer* optimizer = std::exchange(of.optimizer, nullptr);
  EXPECT_EQ(kadam_destroy(&optimizer, nullptr), KADAM_SUCCESS);
  EXPECT_EQ(optimizer, nullptr);
}

TEST(CApi, HasGroups) {
  COptimizer of("onebit_adam", options_of("onebit_adam"));
  kadam_setup_group(of.setup, "bias", 0.5, 0.0, 1);
  kadam_setup_group(of.setup, "m*", 2.0, NAN, 0);
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  const std::vector<ParameterGroup> groups = {{"bias", 0.5, 0.0, true}, {"m*", 2.0, {}, false}};
  EXPECT_TRUE(bitwise_equal(by_c(of), by_cpp("onebit_adam", options_of("onebit_adam"), groups)));
}

TEST(CApi, SaysWhatAStepDid) {
  COptimizer of("onebit_adam", options_of("onebit_adam"));
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS);
  std::vector<float> x(static_cast<std::size_t>(d()), 1.0F);
  std::vector<float> gradient(x.size(), 2.0F);
  kadam_step_result result{};
  ASSERT_EQ(kadam_raise(of.optimizer, world_rank() == 0 ? 4 : 0, nullptr), KADAM_SUCCESS);
  ASSERT_EQ(kadam_step(of.optimizer, x.data(), gradient.data(), &result, nullptr), KADAM_SUCCESS);
  EXPECT_EQ(result.step, 1);
  EXPECT_STREQ(result.phase, "warm-up");
  EXPECT_DOUBLE_EQ(result.learning_rate, 0.01);
  EXPECT_NEAR(result.gradient_norm, 2.0 * std::sqrt(static_cast<double>(d())), 1e-9);
  EXPECT_EQ(result.raised, 4U);
  EXPECT_EQ(result.skipped, 0);
  if (world_rank() == 0) gradient[5] = NAN;
  ASSERT_EQ(kadam_step(of.optimizer, x.data(), gradient.data(), &result, nullptr), KADAM_SUCCESS);
  EXPECT_EQ(result.skipped, 1);
  EXPECT_EQ(result.step, 1);
}

TEST(CApi, SaysHowManyStepsRanksHaveSkippedAlone) {
  COptimizer of("local_adam", {{"lr", 0.01}, {"sync_interval", 2}});
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  std::vector<float> x(static_cast<std::size_t>(d()), 1.0F);
  for (int t = 1; t <= 4; ++t) {
    std::vector<float> gradient(x.size(), 2.0F);
    if (world_rank() == 0 && t <= 2) gradient[5] = NAN;
    kadam_step_result result{};
    ASSERT_EQ(kadam_step(of.optimizer, x.data(), gradient.data(), &result, &of.error), KADAM_SUCCESS)
        << of.error.text;
    EXPECT_EQ(result.skipped, 0);
    EXPECT_EQ(result.step, t);
    EXPECT_EQ(result.skipped_alone, t == 2 ? 2 : 0);
  }
}

TEST(CApi, CountsAndMeasures) {
  COptimizer of("onebit_adam", options_of("onebit_adam"));
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS);
  ASSERT_EQ(kadam_measure_phases(of.optimizer, 1, nullptr), KADAM_SUCCESS);
  (void)by_c(of);
  const auto other = make_optimizer("onebit_adam", options_of("onebit_adam"), c_layout,
                                    make_mpi_communicator(MPI_COMM_WORLD));
  kadam_statistics got{};
  ASSERT_EQ(kadam_get_statistics(of.optimizer, &got, nullptr), KADAM_SUCCESS);
  EXPECT_EQ(got.elements, d());
  EXPECT_EQ(got.steps_taken, steps);
  EXPECT_EQ(got.steps_skipped, 0);
  EXPECT_EQ(got.state_bytes, other->memory().state_bytes);
  EXPECT_EQ(got.sent_dense_bytes, 4 * other->bytes_sent_in(1, "warm-up"));
  EXPECT_EQ(got.sent_compressed_bytes, (steps - 4) * other->bytes_sent_in(5, "compressed"));
  EXPECT_EQ(got.sent_bytes, got.sent_dense_bytes + got.sent_compressed_bytes + got.sent_control_bytes);
  EXPECT_GT(got.encode_seconds, 0.0);
  kadam_health health{};
  ASSERT_EQ(kadam_get_health(of.optimizer, &health, nullptr), KADAM_SUCCESS);
  EXPECT_TRUE(std::isnan(health.support_overlap));
  EXPECT_TRUE(std::isfinite(health.inactive_fraction));
}

TEST(CApi, GivesTheConsensusAndChangesNothing) {
  COptimizer of("zero_one_adam", options_of("zero_one_adam"));
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  std::vector<float> x = random_vector(d(), 7);
  for (std::int64_t t = 1; t <= 7; ++t) {
    const std::vector<float> gradient = random_gradient(d(), world_rank(), t);
    ASSERT_EQ(kadam_step(of.optimizer, x.data(), gradient.data(), nullptr, nullptr), KADAM_SUCCESS);
  }
  const std::vector<float> before = x;
  std::vector<float> consensus(x.size());
  ASSERT_EQ(kadam_consensus(of.optimizer, x.data(), consensus.data(), nullptr), KADAM_SUCCESS);
  EXPECT_TRUE(bitwise_equal(x, before));
  EXPECT_TRUE(bitwise_equal(consensus, from_rank_zero(consensus)));
  ASSERT_EQ(kadam_flush(of.optimizer, x.data(), nullptr), KADAM_SUCCESS);
  EXPECT_TRUE(bitwise_equal(x, consensus));
}

TEST(CApi, WorksForTwoGroupsOfRanksAtOnce) {
  const int colour = world_rank() % 2;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, colour, 0, &part);
  {
    // One over all ranks, one over each part; steps alternate.
    COptimizer all("adam", options_of("adam"));
    const std::string name =
        colour == 0 ? "onebit_adam" : optimizers_that(&OptimizerTraits::local_moments).front();
    COptimizer own(name, options_of(name));
    ASSERT_EQ(all.create(MPI_COMM_WORLD), KADAM_SUCCESS) << all.error.text;
    ASSERT_EQ(own.create(part), KADAM_SUCCESS) << own.error.text;
    MPI_Comm_free(&part);
    std::vector<float> x = random_vector(d(), 7);
    std::vector<float> y = x;
    for (std::int64_t t = 1; t <= steps; ++t) {
      const std::vector<float> gradient = random_gradient(d(), world_rank(), t);
      ASSERT_EQ(kadam_step(own.optimizer, y.data(), gradient.data(), nullptr, nullptr), KADAM_SUCCESS);
      ASSERT_EQ(kadam_step(all.optimizer, x.data(), gradient.data(), nullptr, nullptr), KADAM_SUCCESS);
    }
    EXPECT_TRUE(bitwise_equal(x, by_cpp("adam", options_of("adam"))));
    const std::vector<float> first = from_rank_zero(y);
    if (colour == 0) {
      EXPECT_TRUE(bitwise_equal(y, first));
    }
  }
}

/// The way to a device, on a host: as if kernels could not reach the caller's array.
TEST(CallerArray, CopiesBothWaysWhereKernelsCannotReach) {
  const ExecutionSpace exec;
  std::vector<float> data = random_vector(1000, 3);
  const std::vector<float> before = data;
  caller::CallerArray array("test", true);
  const Vector<float> view = array.in(exec, data.data(), 1000);
  ASSERT_NE(static_cast<void*>(view.data()), static_cast<void*>(data.data()));
  Kokkos::parallel_for(
      "test", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1000),
      KOKKOS_LAMBDA(const int i) { view(i) = 2.0F * view(i); });
  exec.fence();
  EXPECT_TRUE(bitwise_equal(data, before));
  array.give_back(exec, view, data.data());
  exec.fence();
  for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], 2.0F * before[i]);
  caller::CallerArray direct("test", false);
  EXPECT_EQ(static_cast<void*>(direct.in(exec, data.data(), 1000).data()), static_cast<void*>(data.data()));
}

TEST(CallerArray, KeepsItsCopyForTheNextCall) {
  const ExecutionSpace exec;
  std::vector<float> data = random_vector(1000, 3);
  caller::CallerArray array("test", true);
  const float* const copy = array.in(exec, data.data(), 1000).data();
  array.set_copies(false);
  EXPECT_EQ(array.in(exec, data.data(), 1000).data(), data.data());
  array.set_copies(true);
  EXPECT_EQ(array.in(exec, data.data(), 999).data(), copy);
}

int allocations = 0;

TEST(CallerParameters, KeepCopiesOfParametersAndModel) {
  const ExecutionSpace exec;
  std::vector<float> data = random_vector(1000, 3);
  std::vector<Bfloat16> model(1000);
  caller::CallerParameters parameters("test", 1000, true);
  const auto previous = Kokkos::Tools::Experimental::get_callbacks();
  for (int call = 0; call < 3; ++call) {
    if (call == 1) {
      allocations = 0;
      Kokkos::Tools::Experimental::set_allocate_data_callback(
          [](Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t) { ++allocations; });
    }
    parameters.set_copied(true);
    parameters.set_model(model.data(), NumberFormat::bfloat16, true);
    const Parameters own = parameters.in(exec, data.data());
    EXPECT_NE(own.master().data(), data.data());
    EXPECT_TRUE(own.has_model());
    parameters.set_copied(false);
    parameters.set_model(nullptr, NumberFormat::bfloat16, false);
    EXPECT_EQ(parameters.in(exec, data.data()).master().data(), data.data());
  }
  Kokkos::Tools::Experimental::set_callbacks(previous);
  EXPECT_EQ(allocations, 0);
}

}  // namespace
}  // namespace kadam::test
