// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <replay/normal.hpp>

#include <algorithm>
#include <array>

namespace kadam::replay {
namespace {

// clang-format off
// Made by scripts/replay_ranges.sh --write.
constexpr std::array<NormalRanges, 11> measured = {{
    {"onebit_adam", {{{0.083, 1.1}, {0.58, 1.5}, {0.69, 1}, {0.092, 3.7}, {0, 0}}}},
    {"apmsqueeze", {{{0.044, 1.2}, {0.93, 2}, {0.92, 1}, {0.79, 40}, {0, 0}}}},
    {"zero_one_adam", {{{0.099, 0.81}, {0.59, 1.5}, {0.7, 1}, {0.23, 7.3}, {0, 0}}}},
    {"onebit_lamb", {{{0.084, 0.96}, {0.46, 1.8}, {0.88, 1}, {0.0015, 16}, {0, 0}}}},
    {"efficient_adam", {{{0.04, 0.47}, {0.56, 0.99}, {0.87, 1}, {0.27, 1.8}, {0, 0}}}},
    {"loco", {{{0.008, 0.65}, {0.93, 1.4}, {0.93, 1}, {0.31, 2.1}, {0, 0}}}},
    {"locally_accumulated_adam", {{{0.14, 1.3}, {0.45, 1.3}, {0.6, 1}, {0.67, 16}, {0, 0}}}},
    {"divisible_adam", {{{0.056, 0.35}, {0.71, 0.96}, {0.87, 1}, {0.27, 3.3}, {0.037, 1.8}}}},
    {"local_adam", {{{0.13, 1.3}, {0.52, 1.5}, {0.68, 1}, {2.9, 55}, {0.025, 1.7}}}},
    {"local_muon", {{{0.044, 0.51}, {0.55, 1.1}, {0.77, 1}, {1.5, 8.3}, {0.0086, 0.61}}}},
    {"low_rank_muon", {{{0, 0.85}, {0.54, 1.4}, {0.69, 1}, {0.29, 1.9}, {0, 0}}}},
}};
// clang-format on

/// Rounding alone: of ranks whose parameters are equal.
constexpr double next_to_nothing = 1e-3;

}  // namespace

const NormalRanges* normal_ranges(std::string_view algorithm) {
  const auto* const found = std::find_if(measured.begin(), measured.end(), [&](const NormalRanges& ranges) {
    return ranges.algorithm == algorithm;
  });
  return found == measured.end() ? nullptr : found;
}

bool is_far(Figure figure, double value, const Range& range) {
  switch (figure) {
    case Figure::signs:
      return value < 0.5 * (0.5 + range.least);
    case Figure::length:
      return value < 0.5 * range.least || value > 2.0 * range.most;
    default:
      return value > 2.0 * range.most + next_to_nothing;
  }
}

}  // namespace kadam::replay
