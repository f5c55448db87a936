// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/step_times.hpp>
#include <report/strip_picture.hpp>
#include <report/timeline_figures.hpp>

#include <fmt/format.h>

namespace kadam::report {
namespace {

std::string strip_time(double seconds, const StripUnit& unit) {
  return fmt::format("{:.2f}", seconds / unit.size);
}

/// A row for all that a rank does: how long, and how long of that it computed a gradient.
Table strip_table(const StepTimeline& timeline, const StripUnit& unit, const std::string& title) {
  const std::vector<std::pair<const char*, Activity>> rows = {
      {"compute", Activity::compute},      {"wait", Activity::wait},
      {"encode", Activity::encode},        {"exposed exchange", Activity::exposed_exchange},
      {"decode", Activity::decode},        {"network", Activity::network},
      {"background", Activity::background}};
  Table table{title, {"rank", std::string(unit.symbol), "of the time", "while it computes"}, {}};
  for (std::size_t k = 0; k < timeline.ranks.size(); ++k) {
    const RankTimeline& rank = timeline.ranks[k];
    for (const auto& [name, activity] : rows) {
      const Spans& spans = rank.of(activity);
      const double hidden = common_length(spans, rank.of(Activity::compute));
      table.rows.push_back({fmt::format("{}: {}", k, name), strip_time(length_of(spans), unit),
                            fmt::format("{:.0f} %", 100.0 * length_of(spans) / timeline.end),
                            activity == Activity::compute ? "–" : strip_time(hidden, unit)});
    }
  }
  return table;
}

std::string strip_caption(const StepTimeline& timeline, const StripUnit& unit) {
  std::string caption = "Of the last steps in trace.json; times by the clock of rank 0.";
  if (timeline.steps > 1) caption += " A line ends the first step.";
  caption +=
      " Compute: data, forward and backward pass. Optimizer: the parts of its step. Network, background: "
      "exchanges; each message that arrives lasts since the one before, so that a busy wire is a row without "
      "gaps.";
  const RankTimeline& first = timeline.ranks.front();
  for (const auto& [name, activity] :
       {std::pair("exchange", Activity::network), std::pair("background exchange", Activity::background)}) {
    const double all = length_of(first.of(activity));
    const double hidden = common_length(first.of(activity), first.of(Activity::compute));
    if (!(hidden > 0.0)) continue;
    caption += fmt::format(" Of {} {} of {} rank 0 computes during {}.", strip_time(all, unit), unit.symbol,
                           name, strip_time(hidden, unit));
  }
  if (timeline.ranks.size() > 1) {
    caption += fmt::format(" The clock of rank 1 may be wrong by {} {}.",
                           number_text(timeline.ranks[1].clock_error / unit.size, 2), unit.symbol);
  }
  return caption;
}

Figure timeline_figure_of(const Run& run, const StepTimeline& timeline, bool is_alone) {
  const StripUnit unit = strip_unit_of(timeline.end);
  Figure figure;
  figure.title = fmt::format("{}{}, seen from {}", timeline.steps > 1 ? "Two steps" : "One step",
                             is_alone ? "" : " of " + run.label,
                             timeline.ranks.size() > 1 ? "rank 0 and rank 1" : "rank 0");
  figure.description =
      "A strip per rank with rows for compute, optimizer, network and background; the table below has their "
      "times.";
  figure.caption = strip_caption(timeline, unit);
  for (std::size_t k = 0; k + 1 < step_parts.size(); ++k)
    figure.legend.push_back({step_parts.at(k).name, step_parts.at(k).colour, "", true});
  figure.legend.push_back({"exchange", exchange_colour, "", true});
  figure.legend.push_back({"message", message_colour, "", true});
  figure.table = strip_table(timeline, unit, figure.title);
  StripPicture picture = strip_picture_of(timeline);
  figure.height = picture.height;
  figure.commands = std::move(picture.commands);
  return figure;
}

}  // namespace

std::vector<Figure> timeline_figures_of(const std::vector<Run>& runs) {
  std::vector<Figure> figures;
  for (const Run& run : runs) {
    if (!run.timeline) continue;
    figures.push_back(timeline_figure_of(run, *run.timeline, runs.size() == 1));
    figures.back().name = fmt::format("timeline-{}", figures.size());
  }
  return figures;
}

}  // namespace kadam::report
