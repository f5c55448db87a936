// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/phases.hpp>
#include <report/read_trace.hpp>
#include <report/step_window.hpp>
#include <report/trace_events.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace kadam::report {
namespace {

constexpr int most_ranks = 2;

/// activity_count for what is not drawn.
std::size_t activity_of(const TraceEvent& event) {
  const auto number = [](Activity activity) { return static_cast<std::size_t>(activity); };
  const bool has_arrived = event.name == trace::message_arrives;
  if (is_on(event, trace::Track::network))
    return number(has_arrived ? Activity::network_message : Activity::network);
  if (is_on(event, trace::Track::background))
    return number(has_arrived ? Activity::background_message : Activity::background);
  const std::array<std::pair<const char*, Activity>, 5> regions = {
      {{trace::gradient_region, Activity::compute},
       {region_of(Phase::check), Activity::wait},
       {region_of(Phase::encode), Activity::encode},
       {region_of(Phase::exchange), Activity::exposed_exchange},
       {region_of(Phase::decode), Activity::decode}}};
  for (const auto& [name, activity] : regions) {
    if (event.name == name) return number(activity);
  }
  return activity_count;
}

/// An exchange that goes on when the recording ends is known by its messages alone.
void complete(RankTimeline& rank) {
  for (const auto& [exchange, message] : {std::pair(Activity::network, Activity::network_message),
                                          std::pair(Activity::background, Activity::background_message)}) {
    const Spans& messages = rank.of(message);
    rank.of(exchange).insert(rank.of(exchange).end(), messages.begin(), messages.end());
  }
  for (std::size_t k = 0; k < activity_count; ++k) {
    if (!is_message(static_cast<Activity>(k))) rank.spans.at(k) = joined(std::move(rank.spans.at(k)));
  }
}

StepTimeline read_window(const std::filesystem::path& file, const StepWindow& window) {
  const double zero = window.first_step.begin;
  StepTimeline timeline{{0.0, window.first_step.end - zero}, window.end - zero, window.steps, {}};
  read_trace_events(file, [&](const TraceEvent& event) {
    if (event.process >= most_ranks) return false;
    if (event.process < 0) return true;
    const auto rank = static_cast<std::size_t>(event.process);
    if (rank >= timeline.ranks.size()) timeline.ranks.resize(rank + 1);
    RankTimeline& own = timeline.ranks[rank];
    if (!event.labels.empty()) own.clock_error = trace::clock_error_in(event.labels);
    const std::size_t activity = activity_of(event);
    if (!lasts(event) || activity == activity_count) return true;
    const Span whole = span_of(event);
    const Span part = {std::max(0.0, whole.begin - zero), std::min(timeline.end, whole.end - zero)};
    if (part.begin < part.end) own.spans.at(activity).push_back(part);
    return true;
  });
  for (RankTimeline& rank : timeline.ranks) complete(rank);
  return timeline;
}

}  // namespace

void read_trace(Run& run) {
  const std::filesystem::path file = run.folder / "trace.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return;
  try {
    run.timeline = read_window(file, choose_step_window(file));
  } catch (const std::runtime_error& error) {
    run.remarks.push_back(std::string("trace.json is not shown: ") + error.what() + ".");
  }
}

}  // namespace kadam::report
