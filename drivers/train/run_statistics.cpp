// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <train/run_statistics.hpp>
#include <utility>

namespace kadam::train {

void StepSeconds::add(double compute_seconds, const Phases::Seconds& phases) {
  const auto of = [&](Phase phase) { return phases[static_cast<std::size_t>(phase)]; };
  compute += compute_seconds;
  encode += of(Phase::encode);
  exchange += of(Phase::check) + of(Phase::exchange);
  decode += of(Phase::decode);
}

void RunStatistics::add(std::int64_t step, const char* phase, double loss, double compute_seconds,
                        const Phases::Seconds& phases, std::size_t bytes) {
  if (phase_ != phase) {
    phase_ = phase;
    last_phase_ = {};
  }
  const auto add_to = [&](StepWindow& window) {
    ++window.steps;
    window.loss += loss;
    window.seconds.add(compute_seconds, phases);
    window.bytes += bytes;
  };
  add_to(window_);
  add_to(last_phase_);
  add_to(whole_run_);
  if (step >= first_late_step_) add_to(late_);
}

StepWindow RunStatistics::take_window() {
  return std::exchange(window_, {});
}

}  // namespace kadam::train
