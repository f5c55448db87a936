// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/gnuplot.hpp>
#include <report/axis.hpp>
#include <report/boxes.hpp>
#include <report/curves.hpp>
#include <report/step_times.hpp>
#include <report/time_bars.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace kadam::report {
namespace {

constexpr double bar_pitch = 62.0;  ///< pixels from bar to bar, its name above it
constexpr double bar_left = 0.02;
constexpr double bar_width = 0.96;  ///< of the picture

/// Bars are drawn in seconds or in milliseconds.
struct Scale {
  const char* unit;
  const char* symbol;
  double size;

  [[nodiscard]] std::string text(double seconds) const {
    const double value = seconds / size;
    const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f}", value, digits);
  }
};

Table bar_table(const std::vector<Bar>& bars, const Scale& scale) {
  Table table{std::string("Time of a step, ") + scale.unit, {"optimizer"}, {}};
  for (const Part& part : step_parts) table.header.emplace_back(part.name);
  table.header.emplace_back("all");
  for (const Bar& bar : bars) {
    std::vector<std::string> row = {bar.label};
    for (const double part : bar.seconds) row.push_back(scale.text(part));
    row.push_back(scale.text(bar.total()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Left to right, in the coordinates of a row that counts from 0 at the top.
std::string label_command(const std::string& text, double x, double row, const char* place) {
  return fmt::format("set label {} at {:.6g},{:.6g} {} noenhanced front\n", launch::gnuplot_text(text), x,
                     -row, place);
}

std::string shortened(const std::string& text) {
  constexpr std::size_t most = 34;
  if (text.size() <= most) return text;
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;  // inside a letter of UTF-8
  return text.substr(0, end) + "...";
}

/// The areas of a bar, and its labels.
void add_bar(const Bar& bar, double row, const Scale& scale, double pixels_per_unit, Boxes& boxes,
             std::string& labels) {
  constexpr double half = 0.22;
  constexpr double pixels_per_letter = 9.0;
  labels +=
      label_command(fmt::format("{}: {} {}", shortened(bar.label), scale.text(bar.total()), scale.symbol),
                    0.0, row - 0.42, "left");
  double begin = 0.0;
  for (std::size_t k = 0; k < step_parts.size(); ++k) {
    const double length = bar.seconds[k] / scale.size;
    const double end = begin + length;
    if (length > 0.0) boxes.add(begin, end, -row, half, step_parts.at(k).colour);
    const std::string text = scale.text(bar.seconds[k]);
    if (length * pixels_per_unit > pixels_per_letter * static_cast<double>(text.size()) + 4.0)
      labels += label_command(text, 0.5 * (begin + end), row, "center");
    begin = end;
  }
}

std::string bar_commands(const std::vector<Bar>& bars, const Scale& scale, double longest, int height) {
  Axis axis = linear_axis(0.0, longest / scale.size, plain_text);
  end_at(axis, longest / scale.size);
  const double pixels_per_unit = bar_width * picture_width / axis.to;
  Boxes boxes;
  std::string labels;
  for (std::size_t k = 0; k < bars.size(); ++k)
    add_bar(bars[k], static_cast<double>(k), scale, pixels_per_unit, boxes, labels);
  const double lowest = 0.5 - static_cast<double>(bars.size());
  return boxes.commands(axis,
                        {bar_left, bar_left + bar_width - 0.02, 56.0 / height, lowest, 0.72,
                         std::string(scale.unit) + " per step"},
                        labels);
}

}  // namespace

std::optional<Figure> time_bars_of(const std::vector<Run>& runs) {
  std::vector<Bar> bars;
  std::string unknowing;
  double longest = 0.0;
  for (const Run& run : runs) {
    const std::optional<Bar> bar = bar_of(run);
    if (!bar || !(bar->total() > 0.0)) continue;
    bars.push_back(*bar);
    longest = std::max(longest, bar->total());
    if (!bar->knows_wait) unknowing += (unknowing.empty() ? "" : ", ") + run.label;
  }
  if (bars.empty()) return std::nullopt;
  const Scale scale = longest < 1.0 ? Scale{"milliseconds", "ms", 1e-3} : Scale{"seconds", "s", 1.0};
  Figure figure;
  figure.name = "time";
  figure.title = "Where the time of a step goes";
  figure.description = fmt::format("A bar per run, {} in all; the table below has its parts.", bars.size());
  figure.caption =
      "Rank 0, mean over the steps of the last phase (after a warm-up). Compute: data, forward and backward "
      "pass, and what is sent meanwhile. Wait: the agreement on the gradient, where fast ranks wait for slow "
      "ones. Exposed exchange: messages that the step waits for. Decode: with reduction and update. Rest: "
      "what has no clock of its own.";
  if (!unknowing.empty())
    figure.caption += " Of " + unknowing + " the wait is part of the exchange, and the rest is not known.";
  for (const Part& part : step_parts) figure.legend.push_back({part.name, part.colour, "", true});
  figure.table = bar_table(bars, scale);
  figure.height = static_cast<int>(bar_pitch * static_cast<double>(bars.size())) + 70;
  figure.commands = bar_commands(bars, scale, longest, figure.height);
  return figure;
}

}  // namespace kadam::report
