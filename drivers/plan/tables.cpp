// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/version.hpp>
#include <launch/quantities.hpp>
#include <plan/forecast.hpp>

#include <fmt/format.h>

namespace kadam::plan_program {
namespace {

std::string header(const Figures& figures) {
  const plan::Network& network = figures.network;
  std::string text = fmt::format("Kadam {}: d = {} parameters", KADAM_VERSION_STRING, figures.elements);
  if (!figures.title.empty()) text += ", " + figures.title;
  text +=
      fmt::format("\nstep      compute {} ({} of it hide a gradient's exchange); {} steps in the run\n",
                  launch::seconds_text(figures.compute_seconds),
                  launch::seconds_text(figures.overlap.backward * figures.compute_seconds), figures.steps);
  text += fmt::format("machine   {}; Adam's update takes {} per million parameters\n", figures.machine,
                      launch::seconds_text(1e6 * figures.kernels->per_element(cost::adam_update)));
  if (figures.has_link()) {
    text += fmt::format(
        "network   {} a host, latency {}, {} a message\n", launch::rate_text(network.link_bytes_per_second),
        launch::seconds_text(network.latency_seconds), launch::seconds_text(network.message_seconds));
  } else {
    text += "network   no second host was found: --rate gives the rate of a link to others\n";
  }
  if (network.ranks_per_node > 1) {
    text += fmt::format("node      {} ranks, {} a rank inside it, latency {}\n", network.ranks_per_node,
                        launch::rate_text(network.node_bytes_per_second),
                        launch::seconds_text(network.node_latency_seconds));
  }
  std::string assumed;
  for (const auto& [option, value] : figures.assumptions()) assumed += fmt::format(" {} {}", option, value);
  if (!assumed.empty()) text += "assumed  " + assumed + ": these were neither given nor measured\n";
  return text;
}

/// Milliseconds with three figures, so that columns stay narrow.
std::string cell(double seconds) {
  const double ms = 1e3 * seconds;
  return ms >= 999.5 ? fmt::format("{:.0f}", ms) : fmt::format("{:.3g}", ms);
}

std::string over_ranks(const std::vector<Column>& columns) {
  std::string text = fmt::format("\n{:<26}", "ms per step, n =");
  for (const Column& column : columns) text += fmt::format("{:>8}", column.ranks);
  for (std::size_t k = 0; k < columns.front().candidates.size(); ++k) {
    text += fmt::format("\n{:<26}", columns.front().candidates[k].name);
    for (const Column& column : columns) {
      text += fmt::format("{:>8}", cell(column.candidates[k].prediction.step.total()));
    }
  }
  text += fmt::format("\n{:<26}", "times faster than dense");
  for (const Column& column : columns) {
    text += fmt::format("{:>8}", column.verdict.compresses ? fmt::format("{:.2f}", column.verdict.speedup)
                                                           : std::string("dense"));
  }
  return text + "\n";
}

/// What the steps of one number of ranks consist of.
std::string in_detail(const Column& column, const Figures& figures) {
  std::string text = fmt::format("\n{:<26}{:>9}{:>9}{:>9}{:>9}{:>9}{:>11}{:>10}{:>7}\n",
                                 fmt::format("ms per step, n = {}", column.ranks), "step", "settled",
                                 "kernels", "network", "exposed", "sent", "memory", "levels");
  for (const plan::Candidate& candidate : column.candidates) {
    const plan::Prediction& prediction = candidate.prediction;
    const plan::StepSeconds& step = prediction.step;
    text += fmt::format("{:<26}{:>9}{:>9}{:>9}{:>9}{:>9}{:>11}{:>10}{:>7}\n", candidate.name,
                        cell(step.total()), cell(prediction.settled.total()), cell(step.kernels),
                        cell(step.exchange), cell(step.exposed), launch::bytes_text(prediction.bytes),
                        launch::bytes_text(memory_of(prediction, figures)), name_of(prediction.levels));
  }
  return text +
         "step: mean of the whole run; settled: step after the warm-up; kernels: those of the optimizer;\n"
         "exposed: the part of the network's time in which ranks wait; sent: bytes per step and rank;\n"
         "memory: per rank, with parameters and gradient; levels: two if ranks of a node first exchange\n"
         "densely\n";
}

/// Where messages are so short that their number takes more time than their bytes: neither a faster link nor
/// fewer bytes help then.
std::string short_messages_of(const Column& column) {
  constexpr double much = 0.5;
  std::string names;
  for (const plan::Candidate& candidate : column.candidates) {
    const plan::StepSeconds& settled = candidate.prediction.settled;
    if (settled.messages <= much * settled.exchange) continue;
    names += fmt::format("{}{} ({} of {})", names.empty() ? "" : ", ", candidate.name,
                         launch::seconds_text(settled.messages), launch::seconds_text(settled.exchange));
  }
  if (names.empty()) return "";
  return fmt::format(
      "The number of messages, not their bytes, takes most of the exchange of {}. Rounds of several steps "
      "send fewer messages; so do two levels, if ranks share a node.\n",
      names);
}

std::string verdict_of(const Forecast& forecast) {
  const Column& column = forecast.columns.back();
  const plan::Verdict& verdict = column.verdict;
  std::string text = "\n";
  if (verdict.alone_fits) {
    text += fmt::format("On {} ranks: {}; {}.\n", column.ranks, verdict.best, verdict.reason);
  } else if (verdict.compresses) {
    text += fmt::format("On {} ranks: {}, {:.2f} times faster than the best dense one; {}.\n", column.ranks,
                        verdict.best, verdict.speedup, verdict.reason);
  } else {
    text += fmt::format("On {} ranks: dense ({}); {}.\n", column.ranks, verdict.best, verdict.reason);
  }
  std::string too_large;
  for (const plan::Candidate& candidate : column.candidates) {
    if (candidate.fits) continue;
    too_large += fmt::format("{}{} ({})", too_large.empty() ? "" : ", ", candidate.name,
                             launch::bytes_text(memory_of(candidate.prediction, forecast.figures)));
  }
  if (!too_large.empty()) {
    text += fmt::format("These do not fit into {}: {}.\n", launch::bytes_text(*forecast.figures.memory_bytes),
                        too_large);
  }
  text += short_messages_of(column);
  for (const plan::Lead& lead : verdict.leads) {
    text += fmt::format("Where {}: {}, {:.2f} times faster.\n", lead.suits, lead.name, lead.speedup);
  }
  const bool has_no_rate = !forecast.figures.has_link() || verdict.alone_fits;
  if (has_no_rate || forecast.figures.network.nodes(column.ranks) == 1) return text;
  return text + (forecast.pays_below ? fmt::format("Compression pays below {} a host.\n",
                                                   launch::rate_text(*forecast.pays_below))
                                     : std::string("Compression pays at no rate of the links.\n"));
}

/// The best one, and those that the verdict leads to.
std::vector<const plan::Prediction*> advised(const Column& column) {
  std::vector<const plan::Prediction*> all = {&find(column, column.verdict.best)->prediction};
  for (const plan::Lead& lead : column.verdict.leads) {
    if (lead.name != column.verdict.best) all.push_back(&find(column, lead.name)->prediction);
  }
  return all;
}

/// What to set for those, as a configuration of kadam-train has it.
std::string settings_of(const Column& column, const plan::Network& network) {
  const std::vector<const plan::Prediction*> all = advised(column);
  std::string text = fmt::format(
      "\nSet this in a configuration of kadam-train, or by the same names in the library:\n\n"
      "[optimizer]\nname = \"{}\"\n",
      all.front()->algorithm);
  std::string in_two_levels;
  for (const plan::Prediction* one : all) {
    if (!one->options.empty()) text += fmt::format("\n[optimizer.{}]\n", one->algorithm);
    for (const auto& [name, value] : one->options) text += fmt::format("{} = {}\n", name, to_text(value));
    if (one->levels == plan::Levels::two)
      in_two_levels += (in_two_levels.empty() ? "" : ", ") + one->algorithm;
  }
  if (in_two_levels.empty()) return text;
  return text +
         fmt::format("\nKADAM_RANKS_PER_NODE={0} for kadam-train, ranks_per_node = {0} in the library: {1}\n",
                     network.ranks_per_node, in_two_levels);
}

std::string published_of(const std::vector<Reproduction>& rows) {
  if (rows.empty()) return "";
  std::string text =
      fmt::format("\n{:<52}{:>11}{:>11}{:>11}\n", "times faster", "published", "predicted", "deviation");
  for (const Reproduction& row : rows) {
    const Published& published = row.published;
    const std::string value = published.low == published.high
                                  ? fmt::format("{:.2f}", published.low)
                                  : fmt::format("{:.3g} to {:.3g}", published.low, published.high);
    text += fmt::format("{:<52}{:>11}{:>11.2f}{:>9.0f} %\n",
                        fmt::format("{} / {}, n = {}{}", published.algorithm, published.over, published.ranks,
                                    published.settled ? ", after the warm-up" : ""),
                        value, row.predicted, 100.0 * row.deviation());
  }
  return text;
}

}  // namespace

std::string tables_of(const Forecast& forecast) {
  return header(forecast.figures) + over_ranks(forecast.columns) +
         in_detail(forecast.columns.back(), forecast.figures) + verdict_of(forecast) +
         settings_of(forecast.columns.back(), forecast.figures.network) + published_of(forecast.published);
}

}  // namespace kadam::plan_program
