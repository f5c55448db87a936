// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/commands.hpp>
#include <launch/files.hpp>
#include <launch/quantities.hpp>
#include <launch/session.hpp>
#include <plan/forecast.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <stdexcept>

namespace kadam::plan_program {
namespace {

using Json = nlohmann::ordered_json;

/// A curve per contestant: step times over x, which has one number for each column. base: of the scale of x.
Json panel_of(const std::string& title, int base, const std::vector<double>& x,
              const std::vector<Column>& columns) {
  Json curves = Json::array();
  for (std::size_t k = 0; k < columns.front().candidates.size(); ++k) {
    const plan::Candidate& candidate = columns.front().candidates[k];
    Json seconds = Json::array();
    for (const Column& column : columns) seconds.push_back(column.candidates[k].prediction.step.total());
    curves.push_back({{"name", candidate.name}, {"dense", candidate.dense}, {"seconds", seconds}});
  }
  return {{"title", title}, {"base", base}, {"x", x}, {"curves", curves}};
}

Json over_ranks(const Forecast& forecast) {
  std::vector<double> ranks;
  ranks.reserve(forecast.columns.size());
  for (const Column& column : forecast.columns) ranks.push_back(column.ranks);
  const Figures& figures = forecast.figures;
  const std::string where =
      figures.has_link() ? ", at " + launch::rate_text(figures.network.link_bytes_per_second) + " a host"
                         : " of one node";
  return panel_of("ranks" + where, 2, ranks, forecast.columns);
}

/// 10 Mbit/s to 1 Tbit/s, ten points a decade.
Json over_rates(const Forecast& forecast, const std::vector<Contestant>& all) {
  constexpr int points = 51;
  constexpr double slowest_mbit = 10.0;
  const int ranks = forecast.columns.back().ranks;
  std::vector<double> rates;
  std::vector<Column> columns;
  rates.reserve(points);
  columns.reserve(points);
  for (int k = 0; k < points; ++k) {
    const double mbit = slowest_mbit * std::pow(10.0, k / 10.0);
    rates.push_back(mbit / 1e3);
    columns.push_back(predict_column_at(forecast.figures, all, ranks, 125e3 * mbit));
  }
  return panel_of(fmt::format("Gbit/s of a host, on {} ranks", ranks), 10, rates, columns);
}

}  // namespace

std::filesystem::path curves_of(std::filesystem::path picture) {
  return picture.replace_extension(".curves.json");
}

bool draw(const std::filesystem::path& file, const Forecast& forecast, const std::vector<Contestant>& all) {
  if (file.extension() != ".svg" && file.extension() != ".png") {
    throw launch::UsageError("--plot " + file.string() + ": expected a name that ends in .svg or .png");
  }
  const std::filesystem::path curves = curves_of(file);
  try {
    const Json panels = {{"panels", {over_ranks(forecast), over_rates(forecast, all)}}};
    launch::write_file(curves, panels.dump(1) + "\n");
  } catch (const std::runtime_error& error) {
    throw launch::UsageError("--plot " + file.string() + ": " + error.what());
  }
  return launch::run_quietly({"kadam-report", "--plan", curves.string(), "--out", file.string()},
                             std::chrono::minutes(2));
}

}  // namespace kadam::plan_program
