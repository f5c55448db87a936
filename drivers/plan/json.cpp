// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <plan/forecast.hpp>

#include <nlohmann/json.hpp>

namespace kadam::plan_program {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const plan::StepSeconds& seconds) {
  return {{"seconds", seconds.total()},         {"compute_seconds", seconds.compute},
          {"kernel_seconds", seconds.kernels},  {"exchange_seconds", seconds.exchange},
          {"exposed_seconds", seconds.exposed}, {"message_seconds", seconds.messages}};
}

Json json_of(const OptionMap& options) {
  Json json = Json::object();
  for (const auto& [name, value] : options)
    std::visit([&, &key = name](const auto& plain) { json[key] = plain; }, value);
  return json;
}

Json json_of(int ranks, const plan::Candidate& candidate, bool has_limit) {
  const plan::Prediction& prediction = candidate.prediction;
  Json json = {{"name", candidate.name},
               {"optimizer", prediction.algorithm},
               {"ranks", ranks},
               {"options", json_of(prediction.options)},
               {"levels", name_of(prediction.levels)},
               {"step", json_of(prediction.step)},
               {"settled", json_of(prediction.settled)},
               {"bytes_per_step", prediction.bytes},
               {"settled_bytes_per_step", prediction.settled_bytes},
               {"state_bytes", prediction.memory.state_bytes},
               {"workspace_bytes", prediction.memory.workspace_bytes}};
  if (prediction.background_steps > 0) json["background_steps"] = prediction.background_steps;
  if (has_limit) json["fits"] = candidate.fits;
  return json;
}

Json json_of(const Column& column) {
  Json leads = Json::array();
  for (const plan::Lead& lead : column.verdict.leads) {
    leads.push_back({{"where", lead.suits}, {"name", lead.name}, {"speedup", lead.speedup}});
  }
  return {{"ranks", column.ranks},
          {"best", column.verdict.best},
          {"compresses", column.verdict.compresses},
          {"speedup", column.verdict.speedup},
          {"reason", column.verdict.reason},
          {"leads", leads}};
}

Json json_of(const Reproduction& row) {
  return {{"algorithm", row.published.algorithm},
          {"over", row.published.over},
          {"ranks", row.published.ranks},
          {"settled", row.published.settled},
          {"published", {row.published.low, row.published.high}},
          {"predicted", row.predicted},
          {"deviation", row.deviation()}};
}

}  // namespace

std::string json_of(const Forecast& forecast) {
  const plan::Network& network = forecast.figures.network;
  Json json = {{"parameters", forecast.figures.elements},
               {"compute_seconds", forecast.figures.compute_seconds},
               {"steps", forecast.figures.steps},
               {"network",
                {{"latency_seconds", network.latency_seconds},
                 {"message_seconds", network.message_seconds},
                 {"link_bytes_per_second", network.link_bytes_per_second},
                 {"ranks_per_node", network.ranks_per_node},
                 {"node_latency_seconds", network.node_latency_seconds},
                 {"node_bytes_per_second", network.node_bytes_per_second}}}};
  json["assumed"] = Json::object();
  for (const auto& [option, value] : forecast.figures.assumptions()) json["assumed"][option] = value;
  json["pays_below_bytes_per_second"] = nullptr;
  if (forecast.pays_below) json["pays_below_bytes_per_second"] = *forecast.pays_below;
  json["verdicts"] = Json::array();
  json["predictions"] = Json::array();
  json["published"] = Json::array();
  const bool has_limit = forecast.figures.memory_bytes.has_value();
  for (const Column& column : forecast.columns) {
    json["verdicts"].push_back(json_of(column));
    for (const plan::Candidate& candidate : column.candidates) {
      json["predictions"].push_back(json_of(column.ranks, candidate, has_limit));
    }
  }
  for (const Reproduction& row : forecast.published) json["published"].push_back(json_of(row));
  return json.dump(2) + "\n";
}

}  // namespace kadam::plan_program
