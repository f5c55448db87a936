// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/measure.hpp>

#include <algorithm>
#include <cmath>

namespace kadam::bench {
namespace {

double seconds_of(const ExecutionSpace& exec, const KernelCase& kernel_case, int runs) {
  if (kernel_case.prepare) kernel_case.prepare(exec);
  exec.fence("kadam-bench: ready");
  const Kokkos::Timer timer;
  for (int run = 0; run < runs; ++run) kernel_case.run(exec);
  exec.fence("kadam-bench: done");
  return timer.seconds() / runs;
}

}  // namespace

std::vector<Timing> measure(const std::vector<KernelCase>& cases, int repetitions,
                            const std::function<void(int)>& progress) {
  const ExecutionSpace exec;
  constexpr double shortest = 1e-3;
  std::vector<int> runs;
  runs.reserve(cases.size());
  for (const KernelCase& kernel_case : cases) {
    (void)seconds_of(exec, kernel_case, 1);
    const double once = seconds_of(exec, kernel_case, 1);
    const bool grouped = once < shortest && !kernel_case.prepare;
    runs.push_back(grouped ? static_cast<int>(std::ceil(shortest / std::max(once, 1e-7))) : 1);
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

}  // namespace kadam::bench
