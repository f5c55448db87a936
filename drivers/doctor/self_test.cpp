// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <doctor/self_test.hpp>
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
  std::vector<float> x;
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
    Kokkos::parallel_for("kadam-doctor::pull", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, elements), pull);
    exec.fence("kadam-doctor: a step begins");
    const Kokkos::Timer timer;
    phase = optimizer->step(exec, x, gradient).phase;
    exec.fence("kadam-doctor: a step ends");
    if (t > warmup) seconds.push_back(timer.seconds());
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  Training done;
  done.seconds = seconds[seconds.size() / 2];
  done.bytes = optimizer->bytes_sent_in(steps, phase);
  done.x.resize(static_cast<std::size_t>(elements));
  Kokkos::deep_copy(
      Kokkos::View<float*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(done.x.data(), done.x.size()), x);
  return done;
}

/// Of the bits, in a double that holds all of it.
double hash_of_bits(const std::vector<float>& values) {
  std::uint32_t hash = 2166136261U;
  for (const float value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 16777619U;
  }
  return hash;
}

}  // namespace

SelfTest run_self_test(const std::shared_ptr<Communicator>& communicator) {
  const double mean = 0.5 * (communicator->size() - 1);
  OptionMap options = {
      {"lr", 0.1 * std::max(1.0, mean)}, {"lr_schedule", std::string("cosine")}, {"lr_total_steps", steps}};
  const Training dense = train("adam", options, communicator);
  options["warmup_steps"] = warmup;
  const Training compressed = train("onebit_adam", options, communicator);
  SelfTest test;
  for (const float value : compressed.x)
    test.error = std::max(test.error, std::fabs(static_cast<double>(value) - mean) / std::max(1.0, mean));
  const std::vector<double> own = {hash_of_bits(compressed.x), hash_of_bits(dense.x), test.error};
  const std::vector<double> all = communicator->all_gather_values(own);
  test.equal_on_all_ranks = true;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k] != all[k % own.size()]) test.equal_on_all_ranks = false;
  }
  test.step_seconds = compressed.seconds;
  test.dense_seconds = dense.seconds;
  test.sent_bytes = compressed.bytes;
  test.dense_bytes = dense.bytes;
  return test;
}

}  // namespace kadam::doctor
