// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

/// Decisions in which two right implementations may differ. Nothing of Kadam is used here.
namespace kadam::reference {

/// Elements about which a code or a selection decided within rounding: a sign near 0, a uniform code near a
/// half, the last of the largest. An implementation that adds in another order may decide otherwise and be
/// right; from then on all elements that share a scale with this one differ. So results cannot be compared
/// after such a decision: a test has to change its input so that there is none.
using Undecided = std::vector<std::size_t>;

/// Bound on the relative rounding error of a sum of terms of similar size: some tens of units in the last
/// place.
inline constexpr float rounding = 2e-6F;

/// Whether rounding alone decides the sign of h. An exact 0 is the same everywhere. slack, here and below:
/// factor on the rounding error of a sum that the values may have.
inline bool is_near_zero(float h, float scale, float slack = 1.0F) {
  return h != 0.0F && std::fabs(h) <= slack * rounding * scale;
}

/// Whether rounding may move value / step across the middle between two whole numbers.
inline bool is_near_half(float value, float step, float slack = 1.0F) {
  const float quotient = std::fabs(value) / step;
  return std::fabs(quotient - std::floor(quotient) - 0.5F) <= slack * rounding * (quotient + 1.0F);
}

/// Whether rounding may exchange the order of two magnitudes. Zeros do not count: selecting one changes
/// nothing.
inline bool is_near_tie(float larger, float smaller, float slack = 1.0F) {
  return smaller > 0.0F && larger - smaller <= slack * rounding * larger;
}

}  // namespace kadam::reference
