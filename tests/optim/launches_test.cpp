// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>
#include <support/recorded_work.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// A step with hundreds of tensors in alternating groups is a few launches, and waits a few times: what a
/// GPU's queue sees, through Kokkos Tools.
namespace kadam::launches_test {
namespace {

std::string listed(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += "\n  " + label;
  return text;
}

constexpr std::int64_t tensors = 400;
constexpr std::int64_t tensor_elements = 300;

TensorLayout many_tensors() {
  std::vector<Tensor> list;
  for (std::int64_t k = 0; k < tensors; ++k) {
    list.push_back({(k % 2 == 0 ? "weight" : "bias") + std::to_string(k), k * tensor_elements,
                    (k + 1) * tensor_elements});
  }
  return TensorLayout(list);
}

class LaunchesTest : public testing::TestWithParam<std::string> {};

/// As far as one slice per rank goes, which is so on devices up to 4 MiB of message for each.
TEST_P(LaunchesTest, AStepIsAFewLaunches) {
  MpiOptions options;
  options.exchange.piece_bytes = std::size_t{1} << 24U;
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD, options);
  // A slice of each rank is encoded, and decoded, by a launch of its own.
  const auto ranks = static_cast<std::size_t>(communicator->size());
  const std::size_t most_launches = 12 + 2 * (std::max<std::size_t>(ranks, 2) - 2);
  constexpr std::size_t most_fences = 3;
  const TensorLayout layout = many_tensors();
  const std::int64_t d = layout.elements();
  OptionMap chosen = test::options_with_warmup(GetParam(), 3);
  if (has_option(GetParam(), "sync_interval")) chosen["sync_interval"] = 2;
  const auto optimizer = make_optimizer(GetParam(), chosen, layout, communicator,
                                        {{.tensors = "bias*", .lr_scale = 2.0, .weight_decay = 0.1}});
  const auto parameters = test::to_device(test::random_vector(d, 2));
  const ExecutionSpace exec;
  std::map<std::string, int> steps_of;
  for (std::int64_t t = 1; t <= 10; ++t) {
    const auto gradient = test::to_device(test::random_gradient(d, communicator->rank(), t));
    const test::RecordedWork recorded;
    const StepResult result = optimizer->step(exec, parameters, gradient);
    const std::vector<std::string>& launches = test::RecordedWork::launches();
    const std::vector<std::string>& fences = test::RecordedWork::fences();
    // The first step of a phase may prepare it; what the last one of a warm-up does is not done again.
    const std::string phase = result.phase;
    const bool is_new = ++steps_of[phase] == 1;
    if (is_new || (phase == "warm-up" && t == 3)) continue;
    // A round may have a second exchange, of factors of the variance; it is not every step.
    const std::size_t of_factors = phase == "round" ? 2 : 0;
    // A staged message is copied once more on either side.
    const std::size_t copies = communicator->stages_through_host() ? 4 * (ranks - 1) : 0;
    const std::size_t more = of_factors + copies;
    ASSERT_LE(launches.size(), most_launches + more) << phase << listed(launches);
    ASSERT_LE(fences.size(), most_fences) << phase << listed(fences);
    RecordProperty("launches_" + phase, static_cast<int>(launches.size()));
    RecordProperty("fences_" + phase, static_cast<int>(fences.size()));
  }
  EXPECT_TRUE(
      std::any_of(steps_of.begin(), steps_of.end(), [](const auto& steps) { return steps.second > 1; }));
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, LaunchesTest, testing::ValuesIn(optimizer_names()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace kadam::launches_test
