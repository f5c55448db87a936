// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <train/run_statistics.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <utility>

namespace kadam::train {

namespace {

/// Whether this phase, of an algorithm that compresses, sends exact gradients.
bool is_exact(const std::string& phase) {
  return phase == "warm-up" || phase == "variance";
}

}  // namespace

void StepSeconds::add(double compute_seconds, const Phases::Seconds& phases, double step_seconds) {
  const auto of = [&](Phase phase) { return phases[static_cast<std::size_t>(phase)]; };
  compute += compute_seconds;
  encode += of(Phase::encode);
  exchange += of(Phase::check) + of(Phase::exchange);
  decode += of(Phase::decode);
  wait += of(Phase::check);
  const double known = std::accumulate(phases.begin(), phases.end(), compute_seconds);
  rest += std::max(0.0, step_seconds - known);
}

void StepWindow::add(const StepRecord& record) {
  ++steps;
  if (std::isfinite(record.loss)) {
    ++losses;
    loss += record.loss;
  }
  if (record.is_timed) {
    ++timed_steps;
    seconds.add(record.compute_seconds, record.phases, record.step_seconds);
  }
  bytes += record.bytes;
  background_bytes += record.background_bytes;
}

double StepWindow::mean_loss() const {
  return losses == 0 ? std::numeric_limits<double>::quiet_NaN() : loss / static_cast<double>(losses);
}

StepSeconds StepWindow::mean_seconds() const {
  const auto of = [&](double sum) { return mean(sum, timed_steps); };
  return {of(seconds.compute), of(seconds.encode), of(seconds.exchange),
          of(seconds.decode),  of(seconds.rest),   of(seconds.wait)};
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

std::string StepWindow::to_text() const {
  const StepSeconds& s = seconds;
  return fmt::format("{} {:a} {:a} {:a} {:a} {:a} {} {} {:a} {:a} {} {}", steps, loss, s.compute, s.encode,
                     s.exchange, s.decode, bytes, background_bytes, s.rest, s.wait, timed_steps, losses);
}

bool StepWindow::from_text(const std::string& text) {
  StepWindow read;
  StepSeconds& s = read.seconds;
  long long count = 0;
  long long timed = 0;
  long long finite = 0;
  int end = 0;
  const int found =
      std::sscanf(text.c_str(), "%lld %la %la %la %la %la %zu %zu %la %la%n %lld%n %lld%n", &count,
                  &read.loss, &s.compute, &s.encode, &s.exchange, &s.decode, &read.bytes,
                  &read.background_bytes, &s.rest, &s.wait, &end, &timed, &end, &finite, &end);
  // Older texts: all steps were timed, all losses counted.
  if (found < 11) timed = count;
  if (found < 12) finite = count;
  const auto is_share = [&](long long number) { return number >= 0 && number <= count; };
  if (found < 10 || text.c_str()[end] != '\0' || !is_share(timed) || !is_share(finite)) return false;
  read.steps = count;
  read.timed_steps = timed;
  read.losses = finite;
  *this = read;
  return true;
}

std::map<std::string, std::string> RunStatistics::to_texts() const {
  return {{"phase", phase_},
          {"bytes_sent", std::to_string(bytes_sent_)},
          {"window", window_.to_text()},
          {"last_phase", last_phase_.to_text()},
          {"whole_run", whole_run_.to_text()},
          {"late", late_.to_text()}};
}

bool RunStatistics::from_texts(const std::map<std::string, std::string>& texts) {
  const auto text = [&](const char* name) {
    const auto found = texts.find(name);
    return found == texts.end() ? std::string() : found->second;
  };
  phase_ = text("phase");
  return std::sscanf(text("bytes_sent").c_str(), "%zu", &bytes_sent_) == 1 &&
         window_.from_text(text("window")) && last_phase_.from_text(text("last_phase")) &&
         whole_run_.from_text(text("whole_run")) && late_.from_text(text("late"));
}

StepWindow RunStatistics::take_window() {
  return std::exchange(window_, {});
}

}  // namespace kadam::train
