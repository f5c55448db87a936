// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/step_times.hpp>

#include <algorithm>

namespace kadam::report {
namespace {

/// Means of the last tenth of the lines.
Numbers late_means(const std::vector<Line>& lines) {
  const std::size_t count = std::max<std::size_t>(1, lines.size() / 10);
  Numbers sums;
  std::map<std::string, double> counts;
  for (std::size_t k = lines.size() - std::min(count, lines.size()); k < lines.size(); ++k) {
    for (const auto& [name, value] : lines[k].numbers) {
      sums[name] += value;
      counts[name] += 1.0;
    }
  }
  for (auto& [name, sum] : sums) sum /= counts[name];
  return sums;
}

}  // namespace

std::optional<Bar> bar_of(const Run& run) {
  const Numbers numbers = run.is_finished() ? run.result : late_means(run.training);
  const auto seconds = [&](const char* part) { return number_of(numbers, std::string(part) + "_seconds"); };
  if (!seconds("compute") || !seconds("exchange")) return std::nullopt;
  const double wait = seconds("wait").value_or(0.0);
  return Bar{
      run.label,
      {*seconds("compute"), wait, seconds("encode").value_or(0.0), std::max(0.0, *seconds("exchange") - wait),
       seconds("decode").value_or(0.0), seconds("rest").value_or(0.0)},
      seconds("wait").has_value()};
}

}  // namespace kadam::report
