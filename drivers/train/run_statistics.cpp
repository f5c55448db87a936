// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <limits>
#include <train/run_statistics.hpp>
#include <utility>

namespace kadam::train {

namespace {

/// Whether this phase, of an algorithm that compresses, sends exact gradients.
bool is_exact(const std::string& phase) {
  return phase == "warm-up" || phase == "variance";
}

}  // namespace

void StepSeconds::add(double compute_seconds, const Phases::Seconds& phases) {
  const auto of = [&](Phase phase) { return phases[static_cast<std::size_t>(phase)]; };
  compute += compute_seconds;
  encode += of(Phase::encode);
  exchange += of(Phase::check) + of(Phase::exchange);
  decode += of(Phase::decode);
}

void StepWindow::add(const StepRecord& record) {
  ++steps;
  loss += record.loss;
  seconds.add(record.compute_seconds, record.phases);
  bytes += record.bytes;
  background_bytes += record.background_bytes;
}

double StepWindow::mean_loss() const {
  return steps == 0 ? std::numeric_limits<double>::quiet_NaN() : loss / static_cast<double>(steps);
}

StepSeconds StepWindow::mean_seconds() const {
  return {mean(seconds.compute), mean(seconds.encode), mean(seconds.exchange), mean(seconds.decode)};
}

void RunStatistics::add(const StepRecord& record) {
  bytes_sent_ += record.bytes;
  if (record.skipped) return;
  if (is_exact(phase_) != is_exact(record.phase)) last_phase_ = {};
  phase_ = record.phase;
  window_.add(record);
  last_phase_.add(record);
  whole_run_.add(record);
  if (record.step >= first_late_step_) late_.add(record);
}

StepWindow RunStatistics::take_window() {
  return std::exchange(window_, {});
}

}  // namespace kadam::train
