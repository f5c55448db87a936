// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/optimizer_names.hpp>
#include <launch/session.hpp>
#include <plan/forecast.hpp>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace kadam::plan_program {
namespace {

/// What others are compared with, as it is and with gradients of 16 bits.
constexpr std::string_view baseline = "adam";
constexpr const char* half_name = "adam, bf16";

void set_warmup(const std::string& algorithm, std::int64_t steps, OptionMap& options) {
  const OptimizerTraits& traits = optimizer_traits(algorithm);
  if (traits.needs_warmup) options.try_emplace(traits.warmup, std::max<std::int64_t>(1, steps));
}

OptionMap options_of(const Figures& figures, const std::string& algorithm) {
  const auto given = figures.options.find(algorithm);
  return given == figures.options.end() ? OptionMap{} : given->second;
}

plan::Scenario scenario_of(const Figures& figures) {
  plan::Scenario scenario;
  scenario.elements = figures.elements;
  scenario.steps = figures.steps;
  scenario.compute_seconds = figures.compute_seconds;
  scenario.network = figures.network;
  // One node needs no link; a rate that nothing uses keeps the figures possible.
  if (!figures.has_link()) scenario.network.link_bytes_per_second = figures.network.node_bytes_per_second;
  scenario.kernels = figures.kernels.value();
  scenario.overlap = figures.overlap;
  scenario.levels = figures.levels;
  return scenario;
}

const plan::Prediction& published_one(const Column& column, const std::string& name) {
  if (const plan::Candidate* const candidate = find(column, name)) return candidate->prediction;
  throw launch::UsageError("published: '" + name + "' is not one of the optimizers that kadam-plan predicts");
}

}  // namespace

double memory_of(const plan::Prediction& prediction, const Figures& figures) {
  constexpr double parameters_and_gradient = 8.0;
  return parameters_and_gradient * static_cast<double>(figures.elements) +
         static_cast<double>(prediction.memory.state_bytes + prediction.memory.workspace_bytes);
}

std::vector<Contestant> contestants(const Figures& figures) {
  std::vector<Contestant> all;
  const auto warmup =
      static_cast<std::int64_t>(std::llround(figures.warmup * static_cast<double>(figures.steps)));
  for (const std::string& name : optimizer_names()) {
    OptionMap options = options_of(figures, name);
    set_warmup(name, warmup, options);
    all.push_back({name, name, optimizer_traits(name), options});
    if (name != baseline) continue;
    options["gradients"] = "bf16";
    all.push_back({half_name, name, optimizer_traits(name), options});
  }
  return all;
}

const plan::Candidate* find(const Column& column, const std::string& name) {
  for (const plan::Candidate& candidate : column.candidates) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

Column predict_column(const Figures& figures, const std::vector<Contestant>& all, int ranks) {
  Column column;
  column.ranks = ranks;
  const plan::Scenario scenario = scenario_of(figures);
  column.candidates.reserve(all.size());
  for (const Contestant& one : all) {
    const plan::Prediction prediction = plan::predict(one.algorithm, one.options, scenario, ranks);
    const bool fits = !figures.memory_bytes || memory_of(prediction, figures) <= *figures.memory_bytes;
    column.candidates.push_back({one.name, one.traits.dense, prediction, one.traits.suits, fits});
  }
  column.verdict = plan::judge(column.candidates, scenario.network);
  return column;
}

Column predict_column_at(Figures figures, const std::vector<Contestant>& all, int ranks,
                         double link_bytes_per_second) {
  figures.network.link_bytes_per_second = link_bytes_per_second;
  return predict_column(figures, all, ranks);
}

std::optional<double> pays_below(const Figures& figures, const std::vector<Contestant>& all, int ranks) {
  constexpr double fastest = 1.25e12;
  constexpr double slowest = 1.25e5;
  constexpr double step = 1.02;
  if (predict_column(figures, all, ranks).verdict.alone_fits) return std::nullopt;
  for (double rate = fastest; rate > slowest; rate /= step) {
    if (predict_column_at(figures, all, ranks, rate).verdict.compresses) return rate;
  }
  return std::nullopt;
}

double Reproduction::deviation() const {
  return predicted / std::clamp(predicted, published.low, published.high) - 1.0;
}

std::vector<Reproduction> reproduce(const Figures& figures, const std::vector<Contestant>& all) {
  std::vector<Reproduction> rows;
  for (const Published& published : figures.published) {
    const Column column = predict_column(figures, all, published.ranks);
    const plan::Prediction& one = published_one(column, published.algorithm);
    const plan::Prediction& other = published_one(column, published.over);
    rows.push_back({published, published.settled ? other.settled.total() / one.settled.total()
                                                 : other.step.total() / one.step.total()});
  }
  return rows;
}

}  // namespace kadam::plan_program
