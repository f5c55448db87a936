// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Timer.hpp>

#include <cstdint>
#include <string>

namespace kadam::launch {

/// Says how far a run is: a bar that redraws itself on a terminal, at most ten lines in a file.
class Progress {
 public:
  Progress(std::string title, std::int64_t steps, bool enabled);

  /// The run goes on after this step: the time left is reckoned from those that follow.
  void start_after(std::int64_t step);
  /// After a step; words is what is worth saying now.
  void update(std::int64_t step, const std::string& words);
  /// Clears the bar.
  void finish();

 private:
  std::string title_;
  std::int64_t steps_;
  std::int64_t first_ = 0;  ///< the step before the first
  bool enabled_;
  bool terminal_;
  double shown_at_ = 0.0;
  std::int64_t shown_tenths_ = 0;
  Kokkos::Timer timer_;
};

/// A line of standard error that is there for a moment, on a terminal alone: what is done now.
class TransientLine {
 public:
  explicit TransientLine(bool enabled);

  void says(const std::string& words);
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
};

}  // namespace kadam::launch
