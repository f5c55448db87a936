// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/gnuplot.hpp>
#include <launch/quantities.hpp>
#include <launch/session.hpp>
#include <plan/output.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <stdexcept>

namespace kadam::plan_program {
namespace {

/// One curve per contestant: gnuplot's data blocks and its plot command.
struct Panel {
  std::string data;
  std::string command;
};

/// Dense ones in greys, so that one sees at a glance what has to be beaten.
std::string style_of(const plan::Candidate& candidate, std::size_t number) {
  constexpr std::array<const char*, 3> greys = {"#999999", "#000000", "#cccccc"};
  constexpr std::array<const char*, 8> colours = {"#1f77b4", "#17becf", "#d62728", "#9467bd",
                                                  "#2ca02c", "#8c564b", "#ff7f0e", "#e377c2"};
  const char* colour =
      candidate.dense ? greys.at(number % greys.size()) : colours.at(number % colours.size());
  return fmt::format("lw 2 lc rgb '{}'", colour);
}

/// x of each column, and its predictions.
Panel panel_of(const std::string& name, const std::vector<double>& x, const std::vector<Column>& columns) {
  Panel panel;
  for (std::size_t k = 0; k < columns.front().candidates.size(); ++k) {
    const plan::Candidate& candidate = columns.front().candidates[k];
    panel.data += fmt::format("${}{} << EOD\n", name, k);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      panel.data += fmt::format("{:.8g} {:.6g}\n", x[c], columns[c].candidates[k].prediction.step.total());
    }
    panel.data += "EOD\n";
    panel.command += fmt::format("{}${}{} using 1:2 with lines {} title '{}' noenhanced",
                                 k == 0 ? "plot " : ", ", name, k, style_of(candidate, k), candidate.name);
  }
  panel.command += "\n";
  return panel;
}

Panel over_ranks(const Forecast& forecast) {
  std::vector<double> ranks;
  ranks.reserve(forecast.columns.size());
  for (const Column& column : forecast.columns) ranks.push_back(column.ranks);
  return panel_of("ranks", ranks, forecast.columns);
}

/// 10 Mbit/s to 1 Tbit/s, ten points a decade.
Panel over_rates(const Forecast& forecast, const std::vector<Contestant>& all) {
  constexpr int points = 51;
  constexpr double slowest_mbit = 10.0;
  std::vector<double> rates;
  std::vector<Column> columns;
  rates.reserve(points);
  columns.reserve(points);
  for (int k = 0; k < points; ++k) {
    const double mbit = slowest_mbit * std::pow(10.0, k / 10.0);
    rates.push_back(mbit / 1e3);
    columns.push_back(predict_column_at(forecast.figures, all, forecast.columns.back().ranks, 125e3 * mbit));
  }
  return panel_of("rates", rates, columns);
}

std::string beside_ranks(const Figures& figures) {
  if (!figures.has_link()) return " of one node";
  return ", at " + launch::rate_text(figures.network.link_bytes_per_second) + " a host";
}

std::string script_of(const std::string& terminal, const std::string& file, const Forecast& forecast,
                      const std::vector<Contestant>& all) {
  const Panel ranks = over_ranks(forecast);
  const Panel rates = over_rates(forecast, all);
  return fmt::format(
      "set terminal {}\nset output {}\n{}{}set multiplot\nset lmargin at screen 0.27\nset rmargin at "
      "screen 0.61\nset logscale xy\n"
      "set grid lc rgb '#e6e6e6'\nset border 3 lc rgb '#888888'\nset tics nomirror\n"
      "set key at screen 0.01,0.8 left top Left reverse font ',10'\nset ylabel 'seconds per step'\n"
      "set xlabel 'ranks{}'\nset logscale x 2\n{}"
      "unset key\nset lmargin at screen 0.69\nset rmargin at screen 0.98\nset logscale x 10\nset xlabel "
      "'Gbit/s of a host, on {} ranks'\n{}unset multiplot\n",
      terminal, launch::gnuplot_text(file), ranks.data, rates.data, beside_ranks(forecast.figures),
      ranks.command, forecast.columns.back().ranks, rates.command);
}

}  // namespace

bool draw(const std::filesystem::path& file, const Forecast& forecast, const std::vector<Contestant>& all) {
  const bool vector_picture = file.extension() == ".svg";
  if (!vector_picture && file.extension() != ".png") {
    throw launch::UsageError("--plot " + file.string() + ": expected a name that ends in .svg or .png");
  }
  std::filesystem::path script = file;
  script.replace_extension(".gnuplot");
  const char* terminal = vector_picture ? "svg size 1250,440 dynamic background 'white' font 'sans,12'"
                                        : "png size 1250,440 font 'sans,11'";
  try {
    return launch::run_gnuplot(script, script_of(terminal, file.filename().string(), forecast, all));
  } catch (const std::runtime_error& error) {
    throw launch::UsageError("--plot " + file.string() + ": " + error.what());
  }
}

}  // namespace kadam::plan_program
