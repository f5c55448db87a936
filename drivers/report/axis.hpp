// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kadam::report {

/// A range of numbers with a few round ones to name.
struct Axis {
  double from = 0.0;
  double to = 1.0;
  bool logarithmic = false;
  std::vector<std::pair<double, std::string>> ticks;
};

using TextOfNumber = std::string (*)(double);

/// From at most `smallest` to at least `largest`, with about five ticks.
[[nodiscard]] Axis linear_axis(double smallest, double largest, TextOfNumber text);
/// The same for numbers above 0.
[[nodiscard]] Axis logarithmic_axis(double smallest, double largest, TextOfNumber text);
/// Logarithmic where all are above 0 and far apart.
[[nodiscard]] Axis fitting_axis(double smallest, double largest, TextOfNumber text);

/// Ends the axis there, without the ticks beyond.
void end_at(Axis& axis, double largest);

/// As gnuplot's settings of the axis "x" or "y".
[[nodiscard]] std::string gnuplot_commands(const Axis& axis, const std::string& name);

}  // namespace kadam::report
