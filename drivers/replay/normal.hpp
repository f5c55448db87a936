// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <replay/comparison.hpp>

#include <array>
#include <string_view>

/// Ranges of the figures where training goes well.
namespace kadam::replay {

struct Range {
  double least = 0.0;
  double most = 0.0;
};

/// Smallest and largest value of each figure over all tensors; indexed by Figure.
struct NormalRanges {
  std::string_view algorithm;
  std::array<Range, figure_count> ranges;
};

/// Ranges that scripts/replay_ranges.sh measured on three networks; null for an algorithm that it did not
/// measure.
[[nodiscard]] const NormalRanges* normal_ranges(std::string_view algorithm);

/// Whether a figure is far from its normal range: above 2 most; length also below least / 2. signs only if it
/// is nearer to 1/2, where signs agree by chance, than to least.
[[nodiscard]] bool is_far(Figure figure, double value, const Range& range);

}  // namespace kadam::replay
