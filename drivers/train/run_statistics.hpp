// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kadam::train {

/// Seconds of a step, or of several.
struct StepSeconds {
  double compute = 0.0;  ///< data, forward and backward pass
  double encode = 0.0;
  double exchange = 0.0;  ///< the agreement on the gradient included
  double decode = 0.0;    ///< reduction and update included

  [[nodiscard]] double total() const { return compute + encode + exchange + decode; }
  void add(double compute_seconds, const Phases::Seconds& phases);
};

/// Sums over some steps of one rank.
struct StepWindow {
  std::int64_t steps = 0;
  double loss = 0.0;
  StepSeconds seconds;
  std::size_t bytes = 0;

  [[nodiscard]] double mean(double sum) const { return steps == 0 ? 0.0 : sum / static_cast<double>(steps); }
};

/// What a run has been like so far: since the last line of metrics, in its present phase, in all.
class RunStatistics {
 public:
  explicit RunStatistics(std::int64_t steps) : first_late_step_(steps - steps / 10) {}

  void add(std::int64_t step, const char* phase, double loss, double compute_seconds,
           const Phases::Seconds& phases, std::size_t bytes);

  /// The steps since the last call.
  StepWindow take_window();
  /// The steps of the phase that the run is in now: of the compressed one, at the end.
  [[nodiscard]] const StepWindow& last_phase() const { return last_phase_; }
  [[nodiscard]] const StepWindow& whole_run() const { return whole_run_; }
  /// The last tenth of the run.
  [[nodiscard]] const StepWindow& late() const { return late_; }

 private:
  std::int64_t first_late_step_;
  std::string phase_;
  StepWindow window_;
  StepWindow last_phase_;
  StepWindow whole_run_;
  StepWindow late_;
};

}  // namespace kadam::train
