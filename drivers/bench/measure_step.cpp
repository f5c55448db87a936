// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/call_counter.hpp>
#include <bench/kernel_cases.hpp>
#include <bench/kernel_results.hpp>
#include <bench/measure_step.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace kadam::bench {
namespace {

constexpr double decay_of_matrices = 0.01;
constexpr const char* step_row_format =
    "{:<26} {:>11} {:>8} {:>12} {:>7} {:>9} {:>7} {:>7} {:>10} {:>9} {:>8}\n";

OptionMap step_options(const std::string& optimizer) {
  OptionMap options = {{"weight_decay", decay_of_matrices}};
  const std::string& warmup = optimizer_traits(optimizer).warmup;
  if (!warmup.empty()) options[warmup] = std::int64_t{1};
  return options;
}

/// An optimizer with its parameters and gradient.
class Steps {
 public:
  Steps(const std::string& optimizer, const TensorLayout& layout,
        const std::shared_ptr<Communicator>& communicator)
      : optimizer_(make_optimizer(optimizer, step_options(optimizer), layout, communicator,
                                  alternating_groups(layout))),
        x_(allocate<float>(ExecutionSpace(), "kadam-bench::x", layout.elements())),
        gradient_(allocate<float>(ExecutionSpace(), "kadam-bench::gradient", layout.elements())) {
    const ExecutionSpace exec;
    fill(exec, x_, 1.0F, 1);
    fill(exec, gradient_, 1e-2F, 100U + static_cast<std::uint32_t>(communicator->rank()));
  }

  void take(const ExecutionSpace& exec, int steps) {
    for (int step = 0; step < steps; ++step) optimizer_->step(exec, x_, gradient_);
  }

 private:
  std::unique_ptr<Optimizer> optimizer_;
  Vector<float> x_;
  Vector<float> gradient_;
};

/// Resets this process' peak of memory, where the system can do that (Linux).
void forget_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << '5';
}

double peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    double kibibytes = 0.0;
    if (words >> name >> kibibytes && name == "VmHWM:") return 1024.0 * kibibytes;
  }
  return 0.0;
}

double most_of(Communicator& communicator, double own) {
  const std::vector<double> all = communicator.all_gather_values({&own, 1});
  return *std::max_element(all.begin(), all.end());
}

/// Number of steps in a group, the same on all ranks: the slowest one decides.
int steps_in_group(const ExecutionSpace& exec, Steps& steps, Communicator& communicator) {
  exec.fence("kadam-bench: ready");
  const Kokkos::Timer timer;
  steps.take(exec, 1);
  exec.fence("kadam-bench: done");
  const double own = timer.seconds();
  return runs_in_group(most_of(communicator, own));
}

}  // namespace

TensorLayout alternating_tensors(std::int64_t elements, std::int64_t tensors, std::int64_t rows) {
  if (tensors > elements) {
    throw std::invalid_argument(
        fmt::format("{0} tensors need {0} elements or more, got {1}", tensors, elements));
  }
  const std::int64_t biases = tensors / 2;
  const std::int64_t matrices = tensors - biases;
  const std::int64_t bias = std::clamp(elements / tensors / 64, std::int64_t{1}, std::int64_t{1024});
  const std::int64_t unit = std::max(rows, std::int64_t{1});
  const std::int64_t columns = (elements - biases * bias) / unit;  // of all matrices
  const std::int64_t rest = elements - biases * bias - columns * unit;
  if (columns < matrices || (rest > 0 && biases == 0)) {
    throw std::invalid_argument(
        fmt::format("{} elements in {} tensors cannot be matrices of {} rows: {}", elements, tensors, rows,
                    columns < matrices ? "give fewer rows" : "give a multiple, or 2 tensors"));
  }
  std::vector<Tensor> list;
  std::int64_t begin = 0;
  for (std::int64_t k = 0; k < tensors; ++k) {
    const std::int64_t pair = k / 2;
    Tensor tensor{fmt::format("bias.{}", pair), begin, begin + bias};
    if (k % 2 == 0) {
      const std::int64_t own = columns * (pair + 1) / matrices - columns * pair / matrices;
      tensor = {fmt::format("weight.{}", pair), begin, begin + own * unit};
      if (rows > 0) tensor.shape = {rows, own};
    } else if (pair == biases - 1) {
      tensor.end += rest;
    }
    begin = tensor.end;
    list.push_back(std::move(tensor));
  }
  return TensorLayout(std::move(list));
}

std::vector<ParameterGroup> alternating_groups(const TensorLayout& layout) {
  if (layout.tensors().size() < 2) return {};
  ParameterGroup biases;
  biases.tensors = "bias.*";
  biases.weight_decay = 0.0;
  return {biases};
}

std::size_t step_memory_bytes(const std::string& optimizer, std::int64_t elements,
                              const Communicator& communicator) {
  const MemoryUse held =
      optimizer_cost(optimizer, step_options(optimizer), elements, communicator.arrangement()).memory;
  return held.state_bytes + held.workspace_bytes + 2 * sizeof(float) * static_cast<std::size_t>(elements);
}

StepResult measure_step(const std::string& optimizer, const TensorLayout& layout,
                        const std::shared_ptr<Communicator>& communicator, const Effort& effort,
                        const std::function<void(int)>& progress) {
  constexpr int until_buffers_are_there = 4;
  constexpr int counted_steps = 8;
  const ExecutionSpace exec;
  forget_peak_memory();
  const auto steps = std::make_shared<Steps>(optimizer, layout, communicator);
  steps->take(exec, until_buffers_are_there);
  Calls calls;
  {
    const CallCounter counter;
    steps->take(exec, counted_steps);
    calls = counter.calls();
  }
  const int group = steps_in_group(exec, *steps, *communicator);
  const Exchange grouped = {
      [&](const auto& space, auto& /*communicator*/, auto& /*phases*/) { steps->take(space, group); }};
  const ExchangeTiming timing = measure_exchange(grouped, *communicator, effort, progress);
  const auto of_step = [](std::int64_t count) { return static_cast<double>(count) / counted_steps; };
  return {optimizer,
          layout.elements(),
          static_cast<std::int64_t>(layout.tensors().size()),
          communicator->size(),
          {timing.seconds.median / group, timing.seconds.spread},
          of_step(calls.launches),
          of_step(calls.copies),
          of_step(calls.fences),
          static_cast<double>(timing.bytes_sent) / group,
          timing.spent_seconds,
          static_cast<double>(step_memory_bytes(optimizer, layout.elements(), *communicator)),
          most_of(*communicator, peak_memory_bytes())};
}

std::string step_table_head() {
  return fmt::format(fmt::runtime(step_row_format), "optimizer", "elements", "tensors", "milliseconds",
                     "spread", "launches", "copies", "fences", "MB sent", "GB needed", "GB peak");
}

std::string step_table_row(const StepResult& result) {
  return fmt::format(fmt::runtime(step_row_format), result.optimizer, result.elements, result.tensors,
                     fmt::format("{:.4f}", 1e3 * result.seconds.median),
                     fmt::format("{:.1f} %", 100.0 * result.seconds.spread),
                     fmt::format("{:.1f}", result.launches), fmt::format("{:.1f}", result.copies),
                     fmt::format("{:.1f}", result.fences), fmt::format("{:.4g}", result.bytes_sent / 1e6),
                     fmt::format("{:.3f}", result.needed_bytes / 1e9),
                     fmt::format("{:.3f}", result.peak_bytes / 1e9));
}

std::string json_line_of(const StepResult& result) {
  const nlohmann::ordered_json line = {{"optimizer", result.optimizer},
                                       {"elements", result.elements},
                                       {"tensors", result.tensors},
                                       {"ranks", result.ranks},
                                       {"milliseconds", 1e3 * result.seconds.median},
                                       {"spread", result.seconds.spread},
                                       {"launches", result.launches},
                                       {"copies", result.copies},
                                       {"fences", result.fences},
                                       {"bytes_sent", result.bytes_sent},
                                       {"needed_memory_bytes", result.needed_bytes},
                                       {"peak_memory_bytes", result.peak_bytes}};
  return line.dump() + "\n";
}

}  // namespace kadam::bench
