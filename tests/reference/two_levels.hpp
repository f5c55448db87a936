// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace kadam::reference {

/// The two magnitudes that one bit selects: `high`, the mean of the magnitudes above their mean, and `low`,
/// the mean of the others. If there are zeros among them: the mean of those that are not 0, and 0. Nothing of
/// Kadam is used here.
struct TwoLevels {
  double border = 0.0;
  float low = 0.0F;
  float high = 0.0F;

  /// The levels of the sent elements. sent: their indices.
  template <class Index>
  static TwoLevels of(const std::vector<float>& values, const std::vector<Index>& sent) {
    TwoLevels levels;
    double sum = 0.0;
    bool has_zeros = false;
    for (const Index i : sent) {
      const double a = std::fabs(values[static_cast<std::size_t>(i)]);
      sum += a;
      has_zeros = has_zeros || a == 0.0;
    }
    if (!has_zeros) levels.border = sum / static_cast<double>(sent.size());
    double sums[2] = {0.0, 0.0};
    double counts[2] = {0.0, 0.0};
    for (const Index i : sent) {
      const double a = std::fabs(values[static_cast<std::size_t>(i)]);
      const std::size_t which = a > levels.border ? 1 : 0;
      sums[which] += a;
      counts[which] += 1.0;
    }
    if (counts[0] > 0.0) levels.low = static_cast<float>(sums[0] / counts[0]);
    levels.high = counts[1] > 0.0 ? static_cast<float>(sums[1] / counts[1]) : levels.low;
    return levels;
  }

  [[nodiscard]] bool is_high(float value) const { return static_cast<double>(std::fabs(value)) > border; }
  /// A value as it is decoded: its sign with one of the two magnitudes.
  [[nodiscard]] float decoded(float value) const { return std::copysign(is_high(value) ? high : low, value); }
};

}  // namespace kadam::reference
