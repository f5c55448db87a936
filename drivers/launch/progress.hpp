// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Timer.hpp>

#include <cstdint>
#include <string>

namespace kadam::launch {

/// Shows on standard output how far a run is: a bar that redraws itself on a terminal, at most ten lines in a
/// file.
class Progress {
 public:
  /// steps: of the whole run. enabled: false on ranks that print nothing.
  Progress(std::string title, std::int64_t steps, bool enabled);

  /// For a run that goes on after this step: the time left is estimated from later steps only.
  void start_after(std::int64_t step);
  /// Shows a step that has ended, followed by `words`.
  void update(std::int64_t step, const std::string& words);
  /// Clears the bar.
  void finish();

 private:
  std::string title_;
  std::int64_t steps_;
  std::int64_t first_ = 0;  ///< the step before the first one of this start
  bool enabled_;
  bool terminal_;
  double shown_at_ = 0.0;
  std::int64_t shown_tenths_ = 0;
  Kokkos::Timer timer_;
};

/// A line on standard error that says what is done now, until it is cleared. Only on a terminal.
class TransientLine {
 public:
  explicit TransientLine(bool enabled);

  /// Replaces the line.
  void says(const std::string& words);
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
};

}  // namespace kadam::launch
