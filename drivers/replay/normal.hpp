// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <replay/comparison.hpp>

#include <array>
#include <string_view>

/// What figures are where training goes well.
namespace kadam::replay {

struct Range {
  double least = 0.0;
  double most = 0.0;
};

/// The smallest and the largest of each figure that any tensor had; by Figure.
struct NormalRanges {
  std::string_view algorithm;
  std::array<Range, figure_count> ranges;
};

/// As scripts/replay_ranges.sh measured them on three networks; null for an optimizer that it does not know.
[[nodiscard]] const NormalRanges* normal_ranges(std::string_view algorithm);

/// Whether a figure is far from what is normal: above twice the most; of the length also below half the
/// least; of the signs, which agree by chance in half of the coordinates, nearer to a half than to the least.
[[nodiscard]] bool is_far(Figure figure, double value, const Range& range);

}  // namespace kadam::replay
