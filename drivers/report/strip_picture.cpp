// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/gnuplot.hpp>
#include <report/axis.hpp>
#include <report/boxes.hpp>
#include <report/curves.hpp>
#include <report/drawing.hpp>
#include <report/step_times.hpp>
#include <report/strip_picture.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace kadam::report {
namespace {

// Pixels.
constexpr double strip_heading = 24.0;
constexpr double strip_row = 25.0;
constexpr double strip_gap = 10.0;
constexpr double strip_half = 9.0;  ///< of a bar
constexpr double strip_inner_half = 5.0;
constexpr int strip_foot = 54;
constexpr double strips_left = 0.235;  ///< of the picture
constexpr double strips_width = 0.745;

constexpr const char* idle_colour = "#f2f2f2";

struct Row {
  const char* name;
  std::vector<Activity> activities;  ///< the later ones in front
};

/// Most optimizers have no background.
std::vector<Row> strip_rows(const StepTimeline& timeline) {
  std::vector<Row> rows = {
      {"compute", {Activity::compute}},
      {"optimizer", {Activity::wait, Activity::exposed_exchange, Activity::encode, Activity::decode}},
      {"network", {Activity::network, Activity::network_message}},
      {"background", {Activity::background, Activity::background_message}},
  };
  const bool has_background =
      std::any_of(timeline.ranks.begin(), timeline.ranks.end(),
                  [](const RankTimeline& rank) { return !rank.of(Activity::background).empty(); });
  if (!has_background) rows.pop_back();
  return rows;
}

// The first activities are the parts of a step but the rest.
static_assert(static_cast<std::size_t>(Activity::network) + 1 == step_parts.size());

const char* colour_of(Activity activity) {
  const auto number = static_cast<std::size_t>(activity);
  if (is_message(activity)) return message_colour;
  return number < step_parts.size() - 1 ? step_parts.at(number).colour : exchange_colour;
}

/// Boxes of spans of time.
struct StripBoxes {
  double unit = 1.0;
  double end = 0.0;
  double pixel = 0.0;  ///< in seconds
  Boxes boxes = {};

  void add(const Span& span, double y, double half, const char* colour) {
    const double last = std::min(std::max(span.end, span.begin + pixel), end);
    boxes.add(span.begin / unit, last / unit, y, half, colour);
  }
};

/// One message touches the next: a gap tells them apart, where there is room for it.
Spans told_apart(Spans messages, double pixel) {
  constexpr double shortest = 3.0;  // pixels
  std::sort(messages.begin(), messages.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  Spans all;
  for (const Span& message : messages) {
    const bool follows = !all.empty() && message.begin <= all.back().end + pixel;
    if (follows && message.end - all.back().begin < shortest * pixel) {
      all.back().end = std::max(all.back().end, message.end);
    } else {
      all.push_back(message);
    }
  }
  for (Span& message : all) {
    if (message.end - message.begin >= shortest * pixel) message.end -= pixel;
  }
  return all;
}

void add_row(const RankTimeline& rank, const Row& row, double y, StripBoxes& boxes) {
  boxes.add({0.0, boxes.end}, y, strip_half, idle_colour);
  for (const Activity activity : row.activities) {
    const double half = is_message(activity) ? strip_inner_half : strip_half;
    // What lies closer together than can be seen is one box: a page stays small.
    const Spans spans = is_message(activity) ? told_apart(rank.of(activity), boxes.pixel)
                                             : joined(rank.of(activity), 0.3 * boxes.pixel);
    for (const Span& span : spans) boxes.add(span, y, half, colour_of(activity));
  }
}

std::string strip_label(const std::string& text, double y) {
  return fmt::format("set label {} at screen 0.005, first {:.6g} left\n", launch::gnuplot_text(text), y);
}

}  // namespace

StripUnit strip_unit_of(double seconds) {
  return seconds < 10.0 ? StripUnit{"milliseconds", "ms", 1e-3} : StripUnit{"seconds", "s", 1.0};
}

StripPicture strip_picture_of(const StepTimeline& timeline) {
  const StripUnit unit = strip_unit_of(timeline.end);
  const std::vector<Row> rows = strip_rows(timeline);
  StripBoxes boxes{unit.size, timeline.end, timeline.end / (strips_width * picture_width)};
  std::string labels;
  double y = 0.0;
  for (std::size_t k = 0; k < timeline.ranks.size(); ++k, y -= strip_gap) {
    labels += strip_label(fmt::format("{{/:Bold rank {}}}", k), y - 0.5 * strip_heading);
    y -= strip_heading;
    for (const Row& row : rows) {
      labels += strip_label(row.name, y - 0.5 * strip_row);
      add_row(timeline.ranks[k], row, y - 0.5 * strip_row, boxes);
      y -= strip_row;
    }
  }
  if (timeline.steps > 1) {
    labels += fmt::format(
        "set arrow from {0:.7g}, graph 0 to {0:.7g}, graph 1 nohead front lw 1 lc rgb '#555555'\n",
        timeline.first_step.end / unit.size);
  }
  Axis axis = linear_axis(0.0, timeline.end / unit.size, plain_text);
  end_at(axis, timeline.end / unit.size);
  const int height = strip_foot - static_cast<int>(y);
  const Boxes::Frame frame = {
      strips_left, strips_left + strips_width, static_cast<double>(strip_foot) / height, y, 0.0, unit.name};
  return {height, boxes.boxes.commands(axis, frame, labels)};
}

}  // namespace kadam::report
