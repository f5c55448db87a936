// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace kadam::launch {

/// Median of measured seconds, and their relative spread.
struct Timing {
  double median = 0.0;
  double spread = 0.0;  ///< (third quartile - first) / median

  /// Shape: seconds [runs], one or more, in any order.
  static Timing of(std::vector<double> seconds);
};

inline Timing Timing::of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double part) {
    const double place = part * static_cast<double>(seconds.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, seconds.size() - 1);
    return std::lerp(seconds[below], seconds[above], place - static_cast<double>(below));
  };
  return {at(0.5), (at(0.75) - at(0.25)) / at(0.5)};
}

}  // namespace kadam::launch
