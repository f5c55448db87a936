// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kadam {

/// Of all coordinates, the step that is longest.
struct LargestStep {
  double over_learning_rate = 0.0;
  std::int64_t tensor = 0;  ///< where it is, in the order of the layout
  std::string tensor_name;
};

/// Figures that say whether compressed training goes well; empty where an algorithm, or its present phase,
/// has no such figure. Equal on all ranks unless it says otherwise.
struct Health {
  /// |what compression still owes| / |what the last exchange delivered|, root mean square over ranks: bounded
  /// when error feedback works; it grows without end when steps grow or the code is too coarse.
  std::optional<double> error_ratio;
  /// Mean square of the ranks' gradients now, over the same when the variance was frozen (both smoothed by
  /// beta2): far from 1, the frozen variance no longer fits.
  std::optional<double> variance_drift;
  /// Largest over smallest sum of v among ranks, where each keeps its own: far from 1, shards differ.
  std::optional<double> variance_spread;
  /// Of the coordinates that a rank sent in the last sparse exchange, those that several ranks sent: 0 when
  /// supports are disjoint, 1 when all ranks choose alike.
  std::optional<double> support_overlap;
  /// Of the seconds that background exchanges took on this rank, those in which it computed: 1 when all is
  /// hidden. Not equal on all ranks.
  std::optional<double> background_hidden;
  /// Largest |m| / (sqrt(v) + eps) where v is frozen: the largest change of a coordinate over its learning
  /// rate (0/1 Adam: at least that of the freeze), weight decay and the trust ratio of LAMB apart. Dense
  /// Adam's never exceeds 7.3 (beta1 = 0.9, beta2 = 0.999); it grows where v is so small that it is noise.
  std::optional<LargestStep> largest_step;
  double inactive_fraction = 0.0;  ///< of the coordinates: without variance, so not trained
  std::int64_t skipped_steps = 0;  ///< a gradient was NaN or infinite on some rank
};

/// A figure under its name in metrics and in Python.
struct NamedFigure {
  const char* name;
  std::optional<double> value;
};

/// Those that an algorithm may have or not.
[[nodiscard]] std::array<NamedFigure, 6> named_figures(const Health& health);

/// Where warnings() begins. Wide: what is beyond is not a matter of taste.
inline constexpr double largest_error_ratio = 100.0;
inline constexpr double largest_variance_drift = 4.0;
inline constexpr double smallest_variance_drift = 1.0 / 16.0;  // gradients shrink as training succeeds
inline constexpr double largest_variance_spread = 2.0;
inline constexpr double largest_largest_step = 200.0;
inline constexpr double largest_inactive_fraction = 0.5;

/// What is wrong and what to do about it.
struct Warning {
  std::string kind;  ///< the figure that says so
  std::string text;
};

/// None when all is well.
[[nodiscard]] std::vector<Warning> warnings(const Health& health);

}  // namespace kadam
