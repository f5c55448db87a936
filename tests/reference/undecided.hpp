// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

/// Where two right implementations may part. Nothing of Kadam is used here.
namespace kadam::reference {

/// Elements about which a code or a selection decided within rounding: a sign near 0, a uniform code near a
/// half, the last among the largest. An implementation that adds in another order may decide otherwise there,
/// and be right; and from then on all that shares a scale with the element goes other ways. So nobody can
/// compare beyond such a decision: whoever does has to change the input first.
using Undecided = std::vector<std::size_t>;

/// How far rounding may carry a sum of some terms of one size: some tens of units in the last place.
inline constexpr float rounding = 2e-6F;

/// Whether a sign decides about rounding alone. An exact 0 is the same everywhere. slack, here and below: how
/// many times further than by a sum the values may have been carried.
inline bool is_near_zero(float h, float scale, float slack = 1.0F) {
  return h != 0.0F && std::fabs(h) <= slack * rounding * scale;
}

/// Whether value / step lies near the middle of two whole numbers.
inline bool is_near_half(float value, float step, float slack = 1.0F) {
  const float quotient = std::fabs(value) / step;
  return std::fabs(quotient - std::floor(quotient) - 0.5F) <= slack * rounding * (quotient + 1.0F);
}

/// Whether the smaller of two magnitudes could be the larger. Zeros change nothing wherever they are.
inline bool is_near_tie(float larger, float smaller, float slack = 1.0F) {
  return smaller > 0.0F && larger - smaller <= slack * rounding * larger;
}

}  // namespace kadam::reference
