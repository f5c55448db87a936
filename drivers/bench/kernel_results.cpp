// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_results.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace kadam::bench {
namespace {

using Work = std::function<void(const ExecutionSpace&)>;

/// Seconds of one run: a group of `runs` between two fences, divided by `runs`.
double seconds_of(const ExecutionSpace& exec, const Work& work, int runs) {
  exec.fence("kadam-bench: ready");
  const Kokkos::Timer timer;
  for (int run = 0; run < runs; ++run) work(exec);
  exec.fence("kadam-bench: done");
  return timer.seconds() / runs;
}

double seconds_of(const ExecutionSpace& exec, const KernelCase& one, int runs) {
  if (runs == 1 || !one.prepare) {
    if (one.prepare) one.prepare(exec);
    return seconds_of(exec, one.run, runs);
  }
  const double preparations = seconds_of(exec, one.prepare, runs);
  const Work both = [&](const ExecutionSpace& space) {
    one.prepare(space);
    one.run(space);
  };
  return std::max(seconds_of(exec, both, runs) - preparations, 1e-9);
}

/// Two kernels whose times are compared.
struct Comparison {
  const char* kernel;
  const char* with;
};

constexpr std::array<Comparison, 10> comparisons = {{{"lamb_update", "adam_update"},
                                                     {"adam_update, 8-bit moments", "adam_update"},
                                                     {"onebit_adam step, n = 4", "adam_update"},
                                                     {"onebit_adam step, bf16 errors, n = 4", "adam_update"},
                                                     {"onebit_lamb step, n = 4", "adam_update"},
                                                     {"top-k per 4096, 1 %", update_limit_kernel},
                                                     {"top-k per 4096, 0.1 %", update_limit_kernel},
                                                     {"top-k of all, 1 %", read_limit_kernel},
                                                     {"top-k of all, 0.1 %", read_limit_kernel},
                                                     {"sparse mean of 8, 1 %", update_limit_kernel}}};

/// Bytes a second of a case.
double bandwidth(const KernelCase& kernel_case, const Timing& timing) {
  return kernel_case.bytes_per_element * static_cast<double>(kernel_case.elements) / timing.median;
}

std::optional<double> bandwidth_of(const char* kernel, const std::vector<KernelCase>& cases,
                                   const std::vector<Timing>& timings) {
  for (std::size_t k = 0; k < cases.size(); ++k) {
    if (cases[k].kernel == kernel) return bandwidth(cases[k], timings[k]);
  }
  return std::nullopt;
}

const KernelResult* find(const std::vector<KernelResult>& results, const char* kernel) {
  const auto found = std::find_if(results.begin(), results.end(),
                                  [&](const KernelResult& result) { return result.kernel == kernel; });
  return found == results.end() ? nullptr : &*found;
}

}  // namespace

int runs_in_group(double seconds) {
  if (seconds >= shortest_group_seconds) return 1;
  return static_cast<int>(std::ceil(shortest_group_seconds / std::max(seconds, 1e-7)));
}

std::vector<Timing> measure(const std::vector<KernelCase>& cases, int repetitions,
                            const std::function<void(int)>& progress) {
  const ExecutionSpace exec;
  std::vector<int> runs;
  runs.reserve(cases.size());
  for (const KernelCase& kernel_case : cases) {
    (void)seconds_of(exec, kernel_case, 1);
    const double once = seconds_of(exec, kernel_case, 1);
    runs.push_back(kernels_run_on_host && kernel_case.prepare ? 1 : runs_in_group(once));
  }
  std::vector<std::vector<double>> seconds(cases.size());
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    progress(repetition);
    for (std::size_t k = 0; k < cases.size(); ++k) {
      seconds[k].push_back(seconds_of(exec, cases[k], runs[k]));
    }
  }
  std::vector<Timing> timings;
  timings.reserve(cases.size());
  for (auto& list : seconds) timings.push_back(Timing::of(std::move(list)));
  return timings;
}

std::vector<KernelResult> results_of(const std::vector<KernelCase>& cases,
                                     const std::vector<Timing>& timings) {
  const auto copy = bandwidth_of(device_limit_kernel, cases, timings);
  const auto update = copy ? copy : bandwidth_of(update_limit_kernel, cases, timings);
  const auto read = copy ? copy : bandwidth_of(read_limit_kernel, cases, timings);
  std::vector<KernelResult> results;
  results.reserve(cases.size());
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const KernelCase& one = cases[k];
    const auto limit = one.limit == Limit::read ? read : update;
    std::optional<double> ratio;
    if (one.limit != Limit::none && limit) ratio = bandwidth(one, timings[k]) / *limit;
    results.push_back({one.kernel, one.elements, one.bytes_per_element, timings[k], ratio});
  }
  return results;
}

std::string table_of(const std::vector<KernelResult>& results) {
  std::string text = fmt::format("{:<36} {:>11} {:>12} {:>7} {:>10} {:>7} {:>9}\n", "kernel", "elements",
                                 "milliseconds", "spread", "B/element", "GB/s", "to limit");
  for (const KernelResult& result : results) {
    const bool has_bytes = result.bytes_per_element > 0.0;
    const double rate =
        result.bytes_per_element * static_cast<double>(result.elements) / result.seconds.median / 1e9;
    text += fmt::format("{:<36} {:>11} {:>12.4f} {:>5.1f} % {:>10} {:>7} {:>9}\n", result.kernel,
                        result.elements, 1e3 * result.seconds.median, 100.0 * result.seconds.spread,
                        has_bytes ? fmt::format("{:.2f}", result.bytes_per_element) : "-",
                        has_bytes ? fmt::format("{:.2f}", rate) : "-",
                        result.ratio_to_limit ? fmt::format("{:.2f}", *result.ratio_to_limit) : "-");
  }
  text += "\n";
  for (const Comparison& comparison : comparisons) {
    const KernelResult* one = find(results, comparison.kernel);
    const KernelResult* other = find(results, comparison.with);
    if (one == nullptr || other == nullptr) continue;
    text += fmt::format("{} takes {:.2f} times as long as {}\n", comparison.kernel,
                        one->seconds.median / other->seconds.median, comparison.with);
  }
  return text;
}

std::string json_lines_of(const std::vector<KernelResult>& results) {
  std::string text;
  for (const KernelResult& result : results) {
    nlohmann::ordered_json line = {{"kernel", result.kernel},
                                   {"milliseconds", 1e3 * result.seconds.median},
                                   {"spread", result.seconds.spread},
                                   {"elements", result.elements},
                                   {"bytes_per_element", result.bytes_per_element}};
    if (result.ratio_to_limit) {
      line["ratio_to_limit"] = *result.ratio_to_limit;
    } else {
      line["ratio_to_limit"] = nullptr;
    }
    const auto* const comparison =
        std::find_if(comparisons.begin(), comparisons.end(),
                     [&](const Comparison& one) { return result.kernel == one.kernel; });
    if (comparison != comparisons.end()) line["compared_with"] = comparison->with;
    text += line.dump() + "\n";
  }
  return text;
}

}  // namespace kadam::bench
