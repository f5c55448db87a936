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

/// Seconds of a step, or of several.
struct StepSeconds {
  double compute = 0.0;  ///< data, forward and backward pass
  double encode = 0.0;
  double exchange = 0.0;  ///< the agreement on the gradient included
  double decode = 0.0;    ///< reduction and update included
  double rest = 0.0;      ///< of the step, none of these: what no phase has a clock for
  double wait = 0.0;  ///< of the exchange: the agreement on the gradient, where the fast wait for the slow

  [[nodiscard]] double total() const { return compute + encode + exchange + decode + rest; }
  /// One step that took `step_seconds` in all.
  void add(double compute_seconds, const Phases::Seconds& phases, double step_seconds);
};

/// One step of one rank.
struct StepRecord {
  std::int64_t step = 0;  ///< 1, 2, ...
  const char* phase = "";
  bool skipped = false;  ///< then the rest but the bytes says nothing
  double loss = 0.0;
  double compute_seconds = 0.0;
  Phases::Seconds phases{};
  std::size_t bytes = 0;
  std::size_t background_bytes = 0;  ///< of these: sent in the background
  double step_seconds = 0.0;         ///< from its first example to its last update
  bool is_timed = true;              ///< whether clocks waited for the kernels: else no seconds are known
};

/// Sums over some steps of one rank.
struct StepWindow {
  std::int64_t steps = 0;
  std::int64_t timed_steps = 0;  ///< of these
  double loss = 0.0;
  StepSeconds seconds;  ///< of the timed steps
  std::size_t bytes = 0;
  std::size_t background_bytes = 0;

  void add(const StepRecord& record);

  /// All of it, to the last bit.
  [[nodiscard]] std::string to_text() const;
  /// False, and nothing is set, if the text is none.
  [[nodiscard]] bool from_text(const std::string& text);

  /// NaN when there is no step.
  [[nodiscard]] double mean_loss() const;
  /// 0 when there is no step, as are the seconds, which are the mean of the timed steps.
  [[nodiscard]] double mean_bytes() const { return mean(static_cast<double>(bytes), steps); }
  [[nodiscard]] double mean_background_bytes() const {
    return mean(static_cast<double>(background_bytes), steps);
  }
  [[nodiscard]] StepSeconds mean_seconds() const;

 private:
  [[nodiscard]] static double mean(double sum, std::int64_t count) {
    return count == 0 ? 0.0 : sum / static_cast<double>(count);
  }
};

/// What a run has been like so far: since the last line of metrics, in its present phase, in all. Skipped
/// steps count in bytes_sent() alone: their loss is no number, and what they send is no step's worth.
class RunStatistics {
 public:
  explicit RunStatistics(std::int64_t steps)
      : first_late_step_(steps - std::max<std::int64_t>(1, steps / 10) + 1) {}

  void add(const StepRecord& record);

  /// What a checkpoint keeps: by name, as text.
  [[nodiscard]] std::map<std::string, std::string> to_texts() const;
  /// False if something is missing or no such text.
  [[nodiscard]] bool from_texts(const std::map<std::string, std::string>& texts);

  /// The steps since the last call.
  StepWindow take_window();
  /// The phase of the last step that was not skipped; empty before it.
  [[nodiscard]] const std::string& phase() const { return phase_; }
  /// The steps since exact gradients, or none, began: those that are compressed, at the end. Steps of several
  /// phases that take turns (local, sync) are one.
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
