// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kadam::train {

/// Seconds that one rank spends on a step, part by part; also their sums or means over several steps.
struct StepSeconds {
  double compute = 0.0;  ///< data, forward and backward pass
  double encode = 0.0;
  double exchange = 0.0;  ///< the agreement on the gradient included
  double decode = 0.0;    ///< reduction and update included
  double rest = 0.0;      ///< remainder of the step, outside of all phases
  double wait = 0.0;      ///< part of `exchange`: the agreement, where fast ranks wait for slow ones

  [[nodiscard]] double total() const { return compute + encode + exchange + decode + rest; }
  /// Adds one step that took `step_seconds` in all.
  void add(double compute_seconds, const Phases::Seconds& phases, double step_seconds);
};

/// One step of one rank.
struct StepRecord {
  std::int64_t step = 0;  ///< 1, 2, ...
  const char* phase = "";
  bool skipped = false;  ///< if true, only the bytes count: there is no loss, and no phase
  double loss = 0.0;
  double compute_seconds = 0.0;
  Phases::Seconds phases{};
  std::size_t bytes = 0;             ///< sent by this rank, with two levels to other nodes only
  std::size_t background_bytes = 0;  ///< of these: sent in the background
  double step_seconds = 0.0;         ///< from the first example of the step to the last update
  bool is_timed = true;              ///< clocks waited for the kernels; if false, the seconds mean nothing
};

/// Sums over some steps of one rank.
struct StepWindow {
  std::int64_t steps = 0;
  std::int64_t timed_steps = 0;  ///< of these
  /// Steps with a finite loss. In local rounds a rank skips a step alone: its loss is NaN, the step counts.
  std::int64_t losses = 0;
  double loss = 0.0;    ///< sum of these losses
  StepSeconds seconds;  ///< of the timed steps
  std::size_t bytes = 0;
  std::size_t background_bytes = 0;

  void add(const StepRecord& record);

  /// Text from which from_text() restores all members to the last bit.
  [[nodiscard]] std::string to_text() const;
  /// Returns false and changes nothing if the text is not one that to_text() writes.
  [[nodiscard]] bool from_text(const std::string& text);

  /// Mean of the finite losses; NaN if there is none.
  [[nodiscard]] double mean_loss() const;
  /// Bytes per step; 0 without a step.
  [[nodiscard]] double mean_bytes() const { return mean(static_cast<double>(bytes), steps); }
  [[nodiscard]] double mean_background_bytes() const {
    return mean(static_cast<double>(background_bytes), steps);
  }
  /// Seconds per timed step; 0 without one.
  [[nodiscard]] StepSeconds mean_seconds() const;

 private:
  [[nodiscard]] static double mean(double sum, std::int64_t count) {
    return count == 0 ? 0.0 : sum / static_cast<double>(count);
  }
};

/// Sums over the steps of a run so far: since the last line of metrics, in the present phase, in the last
/// tenth of the run, and in all. Skipped steps count in bytes_sent() only: their loss is not a number, and
/// they send less than a step.
class RunStatistics {
 public:
  /// steps: of the whole run.
  explicit RunStatistics(std::int64_t steps)
      : first_late_step_(steps - std::max<std::int64_t>(1, steps / 10) + 1) {}

  void add(const StepRecord& record);

  /// The sums as texts by name, for a checkpoint.
  [[nodiscard]] std::map<std::string, std::string> to_texts() const;
  /// Restores them. Returns false if a text is missing or malformed.
  [[nodiscard]] bool from_texts(const std::map<std::string, std::string>& texts);

  /// Returns the steps since the last call, and begins a new window.
  StepWindow take_window();
  /// Phase of the last step that was not skipped; empty before the first such step.
  [[nodiscard]] const std::string& phase() const { return phase_; }
  /// The steps since the last change between phases with exact gradients (warm-up, variance) and all others:
  /// at the end of a run with a warm-up, its compressed steps. Phases that take turns (local, sync) count as
  /// one.
  [[nodiscard]] const StepWindow& last_phase() const { return last_phase_; }
  [[nodiscard]] const StepWindow& whole_run() const { return whole_run_; }
  /// The last tenth of the run, at least one step.
  [[nodiscard]] const StepWindow& late() const { return late_; }
  [[nodiscard]] std::size_t bytes_sent() const { return bytes_sent_; }

 private:
  std::int64_t first_late_step_;
  std::string phase_;
  std::size_t bytes_sent_ = 0;
  StepWindow window_;
  StepWindow last_phase_;
  StepWindow whole_run_;
  StepWindow late_;
};

}  // namespace kadam::train
