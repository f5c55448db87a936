// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kadam::report {

/// A point of a curve; y is NaN where the curve has a gap.
struct Point {
  double x = 0.0;
  double y = 0.0;
};

using Curve = std::vector<Point>;

[[nodiscard]] bool has_points(const Curve& curve);

/// How many points to join, so that a picture does not get more than it can show and pages of long runs stay
/// small.
[[nodiscard]] std::size_t points_to_join(const Curve& curve);
/// Means of so many points each; a gap where all of them are.
[[nodiscard]] Curve thinned(const Curve& curve, std::size_t group);

/// The last value at or before x; NaN after the curve's end and in a gap.
[[nodiscard]] double value_at(const Curve& curve, double x);

/// As data of gnuplot, x in that unit; a point that stands alone becomes a line of twice the length `dot`, so
/// that it is seen.
[[nodiscard]] std::string gnuplot_data(const Curve& curve, double unit, double dot);

}  // namespace kadam::report
