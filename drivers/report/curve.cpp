// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/curve.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kadam::report {

bool has_points(const Curve& curve) {
  return std::any_of(curve.begin(), curve.end(), [](const Point& point) { return std::isfinite(point.y); });
}

std::size_t points_to_join(const Curve& curve) {
  constexpr std::size_t most_points = 400;
  return (curve.size() + most_points - 1) / most_points;
}

Curve thinned(const Curve& curve, std::size_t group) {
  if (group <= 1) return curve;
  Curve thin;
  for (std::size_t begin = 0; begin < curve.size(); begin += group) {
    const std::size_t end = std::min(curve.size(), begin + group);
    double sum = 0.0;
    double count = 0.0;
    for (std::size_t k = begin; k < end; ++k) {
      if (!std::isfinite(curve[k].y)) continue;
      sum += curve[k].y;
      count += 1.0;
    }
    thin.push_back({curve[end - 1].x, count > 0.0 ? sum / count : std::nan("")});
  }
  return thin;
}

std::string gnuplot_data(const Curve& curve, double unit, double dot) {
  std::string data;
  for (std::size_t k = 0; k < curve.size(); ++k) {
    const Point& point = curve[k];
    if (!std::isfinite(point.y)) {
      data += "\n";
      continue;
    }
    const bool joined =
        (k > 0 && std::isfinite(curve[k - 1].y)) || (k + 1 < curve.size() && std::isfinite(curve[k + 1].y));
    if (!joined) data += fmt::format("{:.9g} {:.9g}\n", point.x / unit - dot, point.y);
    data += fmt::format("{:.9g} {:.9g}\n", point.x / unit + (joined ? 0.0 : dot), point.y);
  }
  return data;
}

double value_at(const Curve& curve, double x) {
  const auto after =
      std::find_if(curve.begin(), curve.end(), [&](const Point& point) { return point.x > x * (1 + 1e-9); });
  const bool has_ended = after == curve.end() && (curve.empty() || curve.back().x < x * (1 - 1e-9));
  return after == curve.begin() || has_ended ? std::nan("") : std::prev(after)->y;
}

}  // namespace kadam::report
