// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/any_quantiser.hpp>
#include <plan/measurement.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace kadam::plan_program {
namespace {

TEST(Fit, FindsTheLineThatPointsLieOn) {
  // 100 us + 3 messages of 10 us + bytes at 50 MB/s; two ranks alone take 110 us.
  ExchangeTimes times{4, 110e-6, 130e-6, {}};
  for (const double bytes : {1e5, 1e6, 1e7}) times.longer.push_back({bytes, 130e-6 + bytes / 5e7});
  const WireFigures figures = fit(times);
  EXPECT_NEAR(figures.latency_seconds, 100e-6, 1e-9);
  EXPECT_NEAR(figures.message_seconds, 10e-6, 1e-9);
  EXPECT_NEAR(figures.bytes_per_second, 5e7, 1.0);
}

TEST(Fit, TakesTheRateFromTheLongestAndTheRestFromAll) {
  // 0.1 s per byte between the longest; 0.4 and 3 s are left, the latter of a step ten times as long.
  const WireFigures figures = fit({2, 0.1, 0.1, {{6.0, 1.0}, {70.0, 10.0}, {170.0, 20.0}}});
  EXPECT_NEAR(figures.bytes_per_second, 10.0, 1e-12);
  const double begin = (0.4 + 0.01 * 3.0 + 0.0025 * 3.0) / (1.0 + 0.01 + 0.0025);
  EXPECT_NEAR(figures.latency_seconds + figures.message_seconds, begin, 1e-12);
}

TEST(Fit, AMessageBetweenTwoIsATenthOfTheirTime) {
  const WireFigures figures = fit({2, 20e-6, 20e-6, {{1e6, 1e-3}, {4e6, 4e-3}}});
  EXPECT_NEAR(figures.message_seconds, 2e-6, 1e-9);
  EXPECT_GE(figures.latency_seconds, 18e-6 - 1e-12);
}

TEST(Fit, StaysPossibleWhereTimesAreNoise) {
  // Longer exchanges that took less time, and a pair that took longer than all.
  const WireFigures figures = fit({4, 5e-3, 1e-3, {{1e5, 3e-3}, {1e6, 2e-3}}});
  EXPECT_GE(figures.latency_seconds, 0.0);
  EXPECT_GE(figures.message_seconds, 0.0);
  EXPECT_GT(figures.bytes_per_second, 0.0);
  EXPECT_LE(figures.bytes_per_second, 2.0 * 1e6 / 2e-3 * 1.001);
}

/// Where messages take all of an empty exchange, what they leave of it may be below 0 by rounding.
TEST(Fit, ALatencyIsNeverBelowZero) {
  for (int k = 1; k < 200; ++k) {
    const double empty = 1e-3 * k / 7.0;
    const WireFigures figures = fit({4, 0.1 * empty, empty, {{1e5, 1e-5}, {1e6, 1e-4}}});
    EXPECT_GE(figures.latency_seconds, 0.0) << "an empty exchange takes " << empty << " s";
  }
}

/// All kernels of kadam-bench at 1 ns per element, but some.
Timings timings() {
  Timings all;
  for (const char* name : {"limit: in-place scale",
                           "copy",
                           "adam_update, bf16",
                           "lamb_update",
                           "ordered_mean of 4",
                           "accumulate_adam_direction",
                           "local step of 0/1 Adam",
                           "top-k per 4096, 1 %",
                           "top-k per 4096, 0.1 %",
                           "top-k of all, 1 %",
                           "top-k of all, 0.1 %",
                           "decode_mean of 4, uniform4",
                           "sparse mean of 8, 1 %",
                           "subtract_message, 1 %",
                           "clear_kept, 1 %",
                           "ordered_sum of squares",
                           "multiply_by_right, rank 2",
                           "multiply_by_left, rank 2",
                           "subtract_low_rank, rank 2",
                           "orthogonalise 256 x 256",
                           "orthogonalise 1024 x 1024",
                           "adam_update, 8-bit moments",
                           "adam_update, 8-bit moments, bf16"}) {
    all[name] = 1e-9;
  }
  for (const std::string& code : code_names<ShortErrorCode>()) all["encode " + code + ", bf16 errors"] = 1e-9;
  for (const std::string& code : code_names()) {
    all["encode " + code + ", momentum fused"] = 1e-9;
    all["encode " + code + ", moving average"] = 1e-9;
    all["decode " + code + ", update fused"] = 1e-9;
    all["reduce " + code + " of 4"] = 1.5e-9;
  }
  all["adam_update"] = 3e-9;
  all["onebit_lamb_ratios"] = 2e-9;
  all["reduce sign of 4"] = 0.5e-9;      // 4 x 0.05 + 0.3
  all["reduce sign of 64"] = 3.5e-9;     // 64 x 0.05 + 0.3
  all["reduce uniform4 of 4"] = 0.7e-9;  // 4 x 0.1 + 0.3
  all["reduce uniform8 of 4"] = 0.4e-9;  // no more than noise: as 1 bit
  return all;
}

TEST(CostsOf, TakesKernelsApart) {
  const plan::KernelCosts costs = costs_of(timings());
  EXPECT_DOUBLE_EQ(costs.per_element(cost::adam_update), 3e-9);
  EXPECT_DOUBLE_EQ(costs.per_element(cost::dense_mean), 0.25e-9);
  EXPECT_DOUBLE_EQ(costs.per_element(cost::onebit_lamb_update), 2e-9);
  EXPECT_NEAR(costs.per_element(cost::reduce("sign", 1)), 0.05e-9, 1e-15);
  EXPECT_NEAR(costs.per_element(cost::reply), 0.3e-9, 1e-15);
  EXPECT_NEAR(costs.per_element(cost::reduce("uniform4", 4)), 0.1e-9, 1e-15);
  EXPECT_NEAR(costs.per_element(cost::reduce("uniform8", 8)), 0.05e-9, 1e-15);
  EXPECT_NEAR(costs.per_element(cost::reduce("float8", 8)), 0.3e-9, 1e-15);
  EXPECT_NEAR(costs.per_element(cost::sparse_sum), 12.5e-9, 1e-15);
  EXPECT_NEAR(costs.per_element(cost::sparse_apply), 200e-9, 1e-15);
  for (const Kernel& kernel : plan::calibrated_kernels()) {
    EXPECT_GT(costs.per_element(kernel), 0.0) << kernel.name();
  }
}

TEST(CostsOf, NamesTheKernelThatIsGone) {
  Timings all = timings();
  all.erase("copy");
  try {
    (void)costs_of(all);
    FAIL() << "a missing kernel was not noticed";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("'copy'"), std::string::npos);
  }
}

TEST(MeasureKernels, FindsAllThatItNeeds) {
  const plan::KernelCosts costs = measure_kernels(*Communicator::self(), 64);
  for (const Kernel& kernel : plan::calibrated_kernels()) {
    EXPECT_LT(costs.per_element(kernel), 1e-3) << kernel.name();
  }
  EXPECT_GT(costs.per_element(cost::adam_update), 0.0);
}

}  // namespace
}  // namespace kadam::plan_program
