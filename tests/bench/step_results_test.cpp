// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/call_counter.hpp>
#include <bench/measure_step.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <stdexcept>

namespace kadam::bench::step_results_test {
namespace {

struct Touch {
  Vector<float> values;
  KOKKOS_FUNCTION void operator()(int i) const { values(i) += 1.0F; }
};

TEST(AlternatingTensors, AreMatricesAndBiasesOfTwoGroups) {
  const TensorLayout layout = alternating_tensors(6400, 5);
  std::vector<std::int64_t> sizes;
  for (const Tensor& tensor : layout.tensors()) sizes.push_back(tensor.end - tensor.begin);
  // 2 biases of 6400 / 5 / 64 elements; what is left, in 3 equal parts.
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{2120, 20, 2120, 20, 2120}));
  const ResolvedGroups groups = resolve_groups(layout, alternating_groups(layout), 0.5, 0);
  ASSERT_EQ(groups.segments.size(), 5U);
  for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(groups.segments[k].weight_decay, k % 2 == 0 ? 0.5 : 0.0);

  const Tensor long_bias = alternating_tensors(1 << 26, 400).tensors()[1];
  EXPECT_EQ(long_bias.end - long_bias.begin, 1024);
  EXPECT_EQ(alternating_tensors(3, 3).elements(), 3);
  const TensorLayout one = alternating_tensors(100, 1);
  EXPECT_EQ(one.tensors().front().end, 100);
  EXPECT_TRUE(alternating_groups(one).empty()) << "a pattern that matches nothing is refused";
  EXPECT_THROW(alternating_tensors(3, 4), std::invalid_argument);
}

TEST(AlternatingTensors, HaveTheRowsThatAreAskedFor) {
  // 6360 elements of matrices are 127 columns of 50, and 10 that no column has.
  const TensorLayout layout = alternating_tensors(6400, 5, 50);
  std::vector<std::int64_t> sizes;
  for (const Tensor& tensor : layout.tensors()) sizes.push_back(tensor.elements());
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{2100, 20, 2100, 30, 2150}));
  EXPECT_EQ(layout.tensors()[4].shape, (std::vector<std::int64_t>{50, 43}));
  EXPECT_FALSE(layout.tensors()[3].is_matrix());
  EXPECT_TRUE(alternating_tensors(100, 1, 20).tensors().front().is_matrix());
  EXPECT_THROW(alternating_tensors(100, 1, 30), std::invalid_argument) << "nothing can hold the last 10";
  EXPECT_THROW(alternating_tensors(100, 3, 60), std::invalid_argument) << "two matrices need two columns";
}

TEST(CallCounter, CountsKernelsCopiesAndFences) {
  const ExecutionSpace exec;
  const Vector<float> x("x", 1000);
  const Vector<float> y("y", 1000);
  const auto touch = [&] {
    Kokkos::parallel_for("step_results_test::touch", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1000),
                         Touch{x});
  };
  touch();
  const CallCounter counter;
  EXPECT_EQ(counter.calls().launches, 0);
  touch();
  touch();
  EXPECT_EQ(counter.calls().launches, 2);
  EXPECT_EQ(counter.calls().fences, 0) << "those of Kokkos for its listener are counted";
  Kokkos::deep_copy(exec, y, x);
  exec.fence("step_results_test");
  EXPECT_EQ(counter.calls().copies, 1);
  EXPECT_EQ(counter.calls().fences, 1);
}

TEST(MeasuredStep, SaysWhatItTakes) {
  const StepResult result =
      measure_step("onebit_adam", alternating_tensors(70001, 7), Communicator::self(), {2, 1.0}, [](int) {});
  EXPECT_GT(result.seconds.median, 0.0);
  EXPECT_GT(result.launches, 1.0);
  EXPECT_GE(result.fences, 1.0);
  EXPECT_LT(result.fences, result.launches);

  const auto line = nlohmann::json::parse(json_line_of(result));
  EXPECT_EQ(line["optimizer"], "onebit_adam");
  EXPECT_EQ(line["elements"], 70001);
  EXPECT_EQ(line["tensors"], 7);
  EXPECT_EQ(line["ranks"], 1);
  EXPECT_DOUBLE_EQ(line["milliseconds"], 1e3 * result.seconds.median);
  EXPECT_DOUBLE_EQ(line["launches"], result.launches);
  EXPECT_EQ(step_table_row(result).size(), step_table_head().size());
}

}  // namespace
}  // namespace kadam::bench::step_results_test
