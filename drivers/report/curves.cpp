// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/curve.hpp>
#include <report/curves.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kadam::report {
namespace {

struct Bounds {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();

  void take(double value) {
    if (!std::isfinite(value)) return;
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
  }
  [[nodiscard]] bool empty() const { return smallest > largest; }
};

/// A time axis in seconds, minutes or hours.
struct TimeUnit {
  const char* name = "seconds";
  double size = 1.0;
};

TimeUnit unit_of(double seconds) {
  if (seconds > 3.0 * 3600.0) return {"hours", 3600.0};
  return seconds > 300.0 ? TimeUnit{"minutes", 60.0} : TimeUnit{};
}

Curve curve_of(const std::vector<Line>& lines, const CurveKind& kind) {
  Curve curve;
  for (const Line& line : lines) {
    const auto x = kind.over == "step" ? static_cast<double>(line.step) : number_of(line.numbers, kind.over);
    const double y = number_of(line.numbers, kind.field).value_or(std::nan(""));
    const bool can_be_drawn = !kind.is_logarithmic || y > 0.0;
    if (x) curve.push_back({*x, can_be_drawn ? y : std::nan("")});
  }
  return curve;
}

/// Five places on the way and what the curves say there.
Table table_of(const CurveKind& kind, const std::vector<Curve>& curves,
               const std::vector<LegendEntry>& styles, double last, const TimeUnit& unit) {
  constexpr int columns = 5;
  Table table{kind.title, {"optimizer"}, {}};
  std::vector<double> places;
  for (int k = 1; k <= columns; ++k) {
    const double place = last * k / columns;
    places.push_back(kind.over == "step" ? std::floor(place) : place);
    table.header.push_back(kind.over == "step" ? "step " + step_text(places.back())
                                               : fmt::format("{:.3g} {}", place / unit.size, unit.name));
  }
  for (std::size_t k = 0; k < curves.size(); ++k) {
    if (!has_points(curves[k])) continue;
    std::vector<std::string> row = {styles[k].text};
    for (const double place : places) {
      const double value = value_at(curves[k], place);
      row.push_back(std::isfinite(value) ? kind.text(value) : "–");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string dash_type(const std::string& dashes) {
  std::string numbers = dashes;
  std::replace(numbers.begin(), numbers.end(), ' ', ',');
  return dashes.empty() ? "dt solid" : "dt (" + numbers + ")";
}

std::string frame_commands(const Axis& x, const Axis& y, const std::string& x_title) {
  return fmt::format(
      "set lmargin at screen 0.155\nset rmargin at screen 0.965\nset tmargin at screen 0.965\n"
      "set bmargin at screen 0.185\nset border 3 lc rgb '#555555'\nset tics nomirror scale 0.5\n"
      "set grid lc rgb '#dddddd' lt 1 lw 1\nset xlabel '{}' offset 0,0.3\nunset key\n{}{}",
      x_title, gnuplot_commands(x, "x"), gnuplot_commands(y, "y"));
}

struct Ranges {
  Bounds x;
  Bounds y;
};

Ranges ranges_of(const std::vector<Curve>& curves, const std::vector<Level>& levels) {
  Ranges ranges;
  for (const Curve& curve : curves) {
    if (!has_points(curve)) continue;
    for (const Point& point : curve) {
      ranges.x.take(point.x);
      ranges.y.take(point.y);
    }
  }
  for (const Level& level : levels) ranges.y.take(level.value);
  return ranges;
}

/// What gnuplot draws into the frame, and what the legend says of it.
struct Plots {
  std::string data;
  std::string commands;
  std::vector<LegendEntry> legend;

  void add(const Level& level) {
    add(fmt::format("{:.9g} with lines lw 2 lc rgb '#777777' dt (2,4)", level.value),
        {level.text, "#777777", "2 4"});
  }
  /// unit, dot: as gnuplot_data() has them.
  void add(const Curve& curve, const LegendEntry& style, double unit, double dot) {
    const std::string name = fmt::format("$run{}", legend.size());
    data += fmt::format("{} << EOD\n{}EOD\n", name, gnuplot_data(curve, unit, dot));
    add(fmt::format("{} using 1:2 with lines lw 2 lc rgb '{}' {}", name, style.colour,
                    dash_type(style.dashes)),
        style);
  }

 private:
  void add(const std::string& plot, const LegendEntry& entry) {
    commands += (commands.empty() ? "plot " : ", ") + plot;
    legend.push_back(entry);
  }
};

std::optional<Figure> figure_from(const CurveKind& kind, std::vector<Curve> curves,
                                  const std::vector<LegendEntry>& styles, const std::vector<Level>& levels) {
  std::size_t group = 1;
  for (const Curve& curve : curves) group = std::max(group, points_to_join(curve));
  const double last = ranges_of(curves, {}).x.largest;
  if (!std::isfinite(last)) return std::nullopt;
  const TimeUnit unit = kind.over == "step" ? TimeUnit{"step", 1.0} : unit_of(last);
  Figure figure;
  figure.name = kind.name;
  figure.title = kind.title;
  figure.caption = kind.caption;
  figure.table = table_of(kind, curves, styles, last, unit);
  figure.description = fmt::format("Curves of {} run{}; the table below has their values.",
                                   figure.table.rows.size(), figure.table.rows.size() == 1 ? "" : "s");
  for (Curve& curve : curves) curve = thinned(curve, group);
  if (group > 1) figure.caption += fmt::format(" Each point is the mean of {} logged lines.", group);

  const Ranges ranges = ranges_of(curves, levels);
  Axis x = linear_axis(0.0, last / unit.size, kind.over == "step" ? step_text : plain_text);
  end_at(x, last / unit.size);
  const Axis y = kind.is_logarithmic ? logarithmic_axis(ranges.y.smallest, ranges.y.largest, kind.text)
                                     : fitting_axis(ranges.y.smallest, ranges.y.largest, kind.text);
  Plots plots;
  for (const Level& level : levels) plots.add(level);
  for (std::size_t k = 0; k < curves.size(); ++k) {
    if (has_points(curves[k])) plots.add(curves[k], styles[k], unit.size, 0.004 * x.to);
  }
  figure.legend = plots.legend;
  figure.commands = plots.data + frame_commands(x, y, unit.name) + plots.commands + "\n";
  return figure;
}

}  // namespace

std::optional<Figure> figure_of(const CurveKind& kind, const std::vector<Run>& runs,
                                const std::vector<LegendEntry>& styles, const std::vector<Level>& levels) {
  std::vector<Curve> curves;
  for (const Run& run : runs) curves.push_back(curve_of(run.*kind.lines, kind));
  return figure_from(kind, std::move(curves), styles, levels);
}

std::string step_text(double steps) {
  if (std::abs(steps) >= 1e6) return fmt::format("{:.4g}M", steps / 1e6);
  return std::abs(steps) >= 1e4 ? fmt::format("{:.4g}k", steps / 1e3) : fmt::format("{:.0f}", steps);
}

std::string plain_text(double value) {
  return fmt::format("{:.4g}", value);
}

}  // namespace kadam::report
