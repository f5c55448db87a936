// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctor/findings.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <launch/optimizer_steps.hpp>
#include <launch/timing.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

namespace kadam::doctor {
namespace {

constexpr std::int64_t elements = 1000000;
constexpr std::int64_t warmup = 30;
constexpr std::int64_t steps = 60;

}  // namespace

/// gradient = x - target.
struct PullTo {
  float target;
  Vector<float> x;
  Vector<float> gradient;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const { gradient(i) = x(i) - target; }
};

namespace {

struct Training {
  Vector<float> x;
  double seconds = 0.0;  ///< of a step, median of those after the warm-up
  std::size_t bytes = 0;
};

Training train(const std::string& name, const OptionMap& options,
               const std::shared_ptr<Communicator>& communicator) {
  const ExecutionSpace exec;
  const TensorLayout layout({{"x", 0, elements}});
  const auto optimizer = make_optimizer(name, options, layout, communicator);
  const auto x = allocate_zeros<float>(exec, "kadam-doctor::x", elements);
  const auto gradient = allocate_zeros<float>(exec, "kadam-doctor::gradient", elements);
  const PullTo pull{static_cast<float>(communicator->rank()), x, gradient};
  std::vector<double> seconds;
  std::string phase;
  for (std::int64_t t = 1; t <= steps; ++t) {
    Kokkos::parallel_for(
        "kadam-doctor::pull",
        Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, elements), pull);
    exec.fence("kadam-doctor: a step begins");
    const Kokkos::Timer timer;
    phase = optimizer->step(exec, x, gradient).phase;
    exec.fence("kadam-doctor: a step ends");
    if (t > warmup) seconds.push_back(timer.seconds());
  }
  return {x, launch::Timing::of(std::move(seconds)).median, optimizer->bytes_sent_in(steps, phase)};
}

bool equal_on_all_ranks(Communicator& communicator, const Vector<float>& x) {
  try {
    (void)launch::require_equal_replicas(communicator, ExecutionSpace(), x);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

double largest_distance(const Vector<float>& x, double from) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
  double largest = 0.0;
  for (std::size_t i = 0; i < host.size(); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(host(i)) - from));
  return largest;
}

}  // namespace

SelfTest run_self_test(const std::shared_ptr<Communicator>& communicator) {
  const double mean = 0.5 * (communicator->size() - 1);
  OptionMap options = {
      {"lr", 0.1 * std::max(1.0, mean)}, {"lr_schedule", "cosine"}, {"lr_total_steps", steps}};
  const Training dense = train("adam", options, communicator);
  options["warmup_steps"] = warmup;
  const Training compressed = train("onebit_adam", options, communicator);
  SelfTest test;
  const double own_error = largest_distance(compressed.x, mean) / std::max(1.0, mean);
  for (const double error : communicator->all_gather_values({&own_error, 1}))
    test.error = std::max(test.error, error);
  test.equal_on_all_ranks =
      equal_on_all_ranks(*communicator, compressed.x) && equal_on_all_ranks(*communicator, dense.x);
  test.step_seconds = compressed.seconds;
  test.dense_seconds = dense.seconds;
  test.sent_bytes = compressed.bytes;
  test.dense_bytes = dense.bytes;
  return test;
}

}  // namespace kadam::doctor
