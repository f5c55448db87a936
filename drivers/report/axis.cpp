// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/gnuplot.hpp>
#include <report/axis.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace kadam::report {
namespace {

/// The round number, 1, 2 or 5 times a power of ten, that is not below `step`.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= 0.999 * step) return factor * power;
  }
  return 10.0 * power;
}

/// Multiples within a decade that are named when the range has so many decades.
std::vector<double> factors_of(double decades) {
  if (decades <= 0.8) return {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0};
  if (decades <= 2.0) return {1.0, 2.0, 5.0};
  if (decades <= 3.0) return {1.0, 3.0};
  return {1.0};
}

}  // namespace

Axis linear_axis(double smallest, double largest, TextOfNumber text) {
  constexpr double intervals = 4.0;
  if (largest - smallest <= 1e-6 * std::abs(largest)) {  // all the same: in the middle
    const double around = largest == 0.0 ? 0.5 : 0.1 * std::abs(largest);
    smallest -= around;
    largest += around;
  }
  const double step = round_step((largest - smallest) / intervals);
  Axis axis;
  const double first = std::floor(smallest / step + 1e-6);
  const double last = std::ceil(largest / step - 1e-6);
  for (double k = first; k <= last; k += 1.0) axis.ticks.emplace_back(k * step, text(k * step));
  axis.from = first * step;
  axis.to = last * step;
  return axis;
}

Axis logarithmic_axis(double smallest, double largest, TextOfNumber text) {
  constexpr double padding = 1.25;
  Axis axis;
  axis.logarithmic = true;
  axis.from = smallest / padding;
  axis.to = largest * padding;
  const double decades = std::log10(axis.to / axis.from);
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / 7.0)));
  const int last = static_cast<int>(std::floor(std::log10(axis.to)));
  for (int power = static_cast<int>(std::floor(std::log10(axis.from))); power <= last; power += stride) {
    for (const double factor : factors_of(decades)) {
      const double value = factor * std::pow(10.0, power);
      if (value >= axis.from && value <= axis.to) axis.ticks.emplace_back(value, text(value));
    }
  }
  return axis;
}

Axis fitting_axis(double smallest, double largest, TextOfNumber text) {
  constexpr double far_apart = 4.0;
  return smallest > 0.0 && largest > far_apart * smallest ? logarithmic_axis(smallest, largest, text)
                                                          : linear_axis(smallest, largest, text);
}

void end_at(Axis& axis, double largest) {
  if (!(largest > axis.from)) return;
  axis.to = largest;
  std::erase_if(axis.ticks, [&](const auto& tick) { return tick.first > largest * (1 + 1e-9); });
}

std::string gnuplot_commands(const Axis& axis, const std::string& name) {
  std::string ticks;
  for (const auto& [value, text] : axis.ticks) {
    ticks += fmt::format("{}{} {:.9g}", ticks.empty() ? "" : ", ", launch::gnuplot_text(text), value);
  }
  return fmt::format("{}set logscale {}\nset {}range [{:.9g}:{:.9g}]\nset {}tics ({})\n",
                     axis.logarithmic ? "" : "un", name, name, axis.from, axis.to, name, ticks);
}

}  // namespace kadam::report
