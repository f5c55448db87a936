// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/step_window.hpp>
#include <report/trace_events.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

namespace kadam::report {
namespace {

/// Steps of rank 0, and what it exchanged.
struct Outline {
  Spans steps;
  std::array<Spans, 2> exchanges;  ///< in the foreground, in the background
};

Outline read_outline(const std::filesystem::path& file) {
  Outline outline;
  read_trace_events(file, [&](const TraceEvent& event) {
    if (event.process > 0) return false;  // ranks are written one after the other
    if (!lasts(event)) return true;
    if (event.name == trace::step_region) outline.steps.push_back(span_of(event));
    if (is_on(event, trace::Track::network)) outline.exchanges[0].push_back(span_of(event));
    if (is_on(event, trace::Track::background)) outline.exchanges[1].push_back(span_of(event));
    return true;
  });
  std::sort(outline.steps.begin(), outline.steps.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  for (Spans& exchanges : outline.exchanges) exchanges = joined(std::move(exchanges));
  return outline;
}

/// Two steps with no evaluation or checkpoint between them, else the later alone.
StepWindow window_at(const Spans& steps, std::size_t last) {
  constexpr double longest_pause = 0.1;
  const Span& step = steps[last];
  if (last > 0) {
    const Span& before = steps[last - 1];
    if (step.begin - before.end <= longest_pause * (step.end - before.begin)) return {before, step.end, 2};
  }
  return {step, step.end, 1};
}

/// Seconds of each kind of exchange in it.
std::array<double, 2> exchanges_in(const StepWindow& window, const Outline& outline) {
  const Spans whole = {{window.first_step.begin, window.end}};
  return {common_length(outline.exchanges[0], whole), common_length(outline.exchanges[1], whole)};
}

/// The last of those that have the most to show: of each kind of exchange at least half of what any has.
StepWindow best_of(const std::vector<StepWindow>& windows, const Outline& outline) {
  std::array<double, 2> most{};
  for (const StepWindow& window : windows) {
    const auto seconds = exchanges_in(window, outline);
    for (std::size_t kind = 0; kind < 2; ++kind) most.at(kind) = std::max(most.at(kind), seconds.at(kind));
  }
  const auto worth_of = [&](const StepWindow& window) {
    std::size_t worth = window.steps;
    const auto seconds = exchanges_in(window, outline);
    for (std::size_t kind = 0; kind < 2; ++kind) {
      if (most.at(kind) > 0.0 && seconds.at(kind) >= 0.5 * most.at(kind)) worth += 2;
    }
    return worth;
  };
  return *std::max_element(
      windows.begin(), windows.end(),
      [&](const StepWindow& one, const StepWindow& other) { return worth_of(one) < worth_of(other); });
}

}  // namespace

StepWindow choose_step_window(const std::filesystem::path& file) {
  constexpr std::size_t most_tried = 64;
  constexpr double shortest = 1e-6;
  const Outline outline = read_outline(file);
  if (outline.steps.empty()) throw std::runtime_error("it has no step of rank 0");
  std::vector<StepWindow> windows;
  const std::size_t count = outline.steps.size();
  for (std::size_t k = 0; k < std::min(count, most_tried); ++k)
    windows.push_back(window_at(outline.steps, count - 1 - k));  // the last one first
  const StepWindow best = best_of(windows, outline);
  if (!(best.end - best.first_step.begin >= shortest)) throw std::runtime_error("its steps take no time");
  return best;
}

}  // namespace kadam::report
