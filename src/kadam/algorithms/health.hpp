// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kadam {

/// The longest step that a coordinate takes.
struct LargestStep {
  double over_learning_rate = 0.0;  ///< its length divided by the learning rate
  std::int64_t tensor = 0;          ///< number, in the layout, of the tensor that has it
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
  /// Largest over smallest sum of v among ranks, for algorithms with a v on each rank: far from 1, the ranks'
  /// data differ.
  std::optional<double> variance_spread;
  /// Part of the coordinates sent in the last sparse exchange that more than one rank sent: 0 when no two
  /// ranks choose the same, 1 when all choose alike.
  std::optional<double> support_overlap;
  /// Part of the time of background exchanges during which this rank computed: 1 when all of it is hidden.
  /// Not equal on all ranks.
  std::optional<double> background_hidden;
  /// Largest |m| / (sqrt(v) + eps) where v is frozen: the largest change of a coordinate over its learning
  /// rate, without weight decay and without LAMB's trust ratio (0/1 Adam: over the present learning rate or
  /// that of the freeze, whichever is larger). Dense Adam's never exceeds 7.3 (beta1 = 0.9, beta2 = 0.999);
  /// it grows where v is so small that it is noise.
  std::optional<LargestStep> largest_step;
  double inactive_fraction = 0.0;  ///< part of the coordinates that have no variance, so are not trained
  std::int64_t skipped_steps = 0;  ///< Optimizer::steps_skipped()
};

/// A figure with its name in metrics and in Python.
struct NamedFigure {
  const char* name;
  std::optional<double> value;
};

/// The optional figures of `health`, with their names.
[[nodiscard]] std::array<NamedFigure, 6> named_figures(const Health& health);

/// Limits beyond which warnings() warns. They are wide: a figure beyond them is a problem, not a matter of
/// taste.
inline constexpr double largest_error_ratio = 100.0;
inline constexpr double largest_variance_drift = 4.0;
inline constexpr double smallest_variance_drift = 1.0 / 16.0;  // gradients shrink as training succeeds
inline constexpr double largest_variance_spread = 2.0;
inline constexpr double largest_largest_step = 200.0;
inline constexpr double largest_inactive_fraction = 0.5;

/// A problem that a figure shows, and its remedy.
struct Warning {
  std::string kind;  ///< name of the figure that says so
  std::string text;
};

/// The warnings that these figures give; none when all is well.
[[nodiscard]] std::vector<Warning> warnings(const Health& health);

}  // namespace kadam
