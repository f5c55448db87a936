// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/files.hpp>
#include <launch/session.hpp>
#include <plan/figures.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <functional>
#include <utility>

namespace kadam::plan_program {
namespace {

using Json = nlohmann::ordered_json;

/// What to do with the value of a key.
using Readers = std::map<std::string, std::function<void(const Json&)>, std::less<>>;

void read_object(const std::string& name, const Json& object, const Readers& readers) {
  if (!object.is_object()) throw launch::UsageError(name + ": expected an object { ... }");
  for (const auto& [key, value] : object.items()) {
    const auto reader = readers.find(key);
    if (reader == readers.end()) {
      std::string known;
      for (const auto& [one, unused] : readers) known += (known.empty() ? "" : ", ") + one;
      throw launch::UsageError(fmt::format("{}: unknown key '{}'; the keys are {}", name, key, known));
    }
    try {
      reader->second(value);
    } catch (const nlohmann::json::exception&) {
      throw launch::UsageError(fmt::format("{}: {} has the wrong type: {}", name, key, value.dump()));
    } catch (const std::invalid_argument& refusal) {
      throw launch::UsageError(fmt::format("{}: {}: {}", name, key, refusal.what()));
    }
  }
}

template <class T>
std::function<void(const Json&)> into(T& value) {
  return [&value](const Json& json) { value = json.get<T>(); };
}

OptionValue option_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

void read_kernels(const Json& json, Figures& figures) {
  plan::KernelCosts costs;
  Readers readers;
  std::size_t known = 0;
  for (const Kernel& kernel : plan::calibrated_kernels()) {
    readers[kernel.name()] = [&costs, &known, kernel](const Json& nanoseconds) {
      costs.set(kernel, 1e-9 * nanoseconds.get<double>());
      ++known;
    };
  }
  read_object("nanoseconds_per_element", json, readers);
  const std::size_t all = plan::calibrated_kernels().size();
  if (known != all) {
    throw std::invalid_argument(
        fmt::format("expected all {} kernels, found {}: measure again with --save", all, known));
  }
  costs.take_others_as(cost::scale);
  figures.kernels = costs;
}

/// A value that an option gives as well.
template <class T>
std::function<void(const Json&)> into(T& value, Figures& figures, const char* option) {
  return [&value, &figures, option](const Json& json) {
    value = json.get<T>();
    figures.known.insert(option);
  };
}

Readers network_readers(Figures& figures) {
  plan::Network& network = figures.network;
  return {{"latency_seconds", into(network.latency_seconds, figures, "--latency")},
          {"message_seconds", into(network.message_seconds, figures, "--message-cost")},
          {"link_bytes_per_second", into(network.link_bytes_per_second)},
          {"ranks_per_node", into(network.ranks_per_node, figures, "--ranks-per-node")},
          {"node_latency_seconds", into(network.node_latency_seconds, figures, "--node-latency")},
          {"node_bytes_per_second", into(network.node_bytes_per_second)}};
}

void read_options(const Json& json, Figures& figures) {
  for (const auto& [algorithm, options] : json.items()) {
    for (const auto& [key, value] : options.items()) figures.options[algorithm][key] = option_of(value);
  }
}

void read_published(const Json& json, Figures& figures) {
  for (const Json& entry : json) {
    Published one;
    read_object("published", entry,
                {{"algorithm", into(one.algorithm)},
                 {"over", into(one.over)},
                 {"ranks", into(one.ranks)},
                 {"settled", into(one.settled)},
                 {"speedup",
                  [&](const Json& value) {
                    one.low = (value.is_array() ? value.at(0) : value).get<double>();
                    one.high = (value.is_array() ? value.at(1) : value).get<double>();
                  }},
                 {"statement", into(one.statement)}});
    figures.published.push_back(std::move(one));
  }
}

/// As an option takes it: "50us", "0.25s".
std::string option_text(double seconds) {
  return seconds > 0.0 && seconds < 1e-3 ? fmt::format("{:g}us", 1e6 * seconds)
                                         : fmt::format("{:g}s", seconds);
}

}  // namespace

std::vector<Assumption> Figures::assumptions() const {
  std::vector<Assumption> all;
  const auto add = [&](const char* option, std::string value) {
    if (!known.contains(option)) all.push_back({option, std::move(value)});
  };
  add("--compute", option_text(compute_seconds));
  add("--steps", std::to_string(steps));
  add("--warmup", fmt::format("{:g}", warmup));
  if (has_link()) {
    add("--latency", option_text(network.latency_seconds));
    add("--message-cost", option_text(network.message_seconds));
    add("--ranks-per-node", std::to_string(network.ranks_per_node));
  }
  if (network.ranks_per_node > 1) add("--node-latency", option_text(network.node_latency_seconds));
  if (compute_seconds > 0.0) add("--backward-overlap", fmt::format("{:g}", overlap.backward));
  add("--background-overlap", fmt::format("{:g}", overlap.background));
  return all;
}

plan::Levels levels_of(const std::string& option, const std::string& text) {
  for (const plan::Levels levels : {plan::Levels::best, plan::Levels::flat, plan::Levels::two}) {
    if (text == name_of(levels)) return levels;
  }
  throw launch::UsageError(option + " " + text + ": expected best, flat or two");
}

const char* name_of(plan::Levels levels) {
  if (levels == plan::Levels::best) return "best";
  return levels == plan::Levels::flat ? "flat" : "two";
}

void read_figures(const std::filesystem::path& file, Figures& figures) {
  const Json json = Json::parse(launch::read_file(file), nullptr, false);
  if (json.is_discarded()) throw launch::UsageError(file.string() + ": this is not valid JSON");
  const Readers readers = {
      {"title", into(figures.title)},
      {"source", into(figures.source)},
      {"assumed", into(figures.assumed)},
      {"machine", into(figures.machine)},
      {"nanoseconds_per_element", [&](const Json& value) { read_kernels(value, figures); }},
      {"memory_bytes_per_second",
       [&](const Json& v) { figures.kernels = plan::KernelCosts::at_memory_speed(v.get<double>()); }},
      {"network", [&](const Json& value) { read_object("network", value, network_readers(figures)); }},
      {"parameters", into(figures.elements)},
      {"compute_seconds", into(figures.compute_seconds, figures, "--compute")},
      {"steps", into(figures.steps, figures, "--steps")},
      {"overlap",
       [&](const Json& value) {
         read_object("overlap", value,
                     {{"backward", into(figures.overlap.backward, figures, "--backward-overlap")},
                      {"background", into(figures.overlap.background, figures, "--background-overlap")},
                      {"piece_bytes", into(figures.overlap.piece_bytes)}});
       }},
      {"levels", [&](const Json& value) { figures.levels = levels_of("levels", value.get<std::string>()); }},
      {"ranks", into(figures.ranks)},
      {"options", [&](const Json& value) { read_options(value, figures); }},
      {"published", [&](const Json& value) { read_published(value, figures); }}};
  try {
    read_object(file.string(), json, readers);
  } catch (const launch::UsageError& refusal) {
    const std::string words = refusal.what();
    if (words.starts_with(file.string())) throw;
    throw launch::UsageError(file.string() + ": " + words);
  }
}

void write_figures(const std::filesystem::path& file, const Figures& figures) {
  const plan::Network& network = figures.network;
  Json json = {{"machine", figures.machine}};
  if (figures.kernels) {
    for (const Kernel& kernel : plan::calibrated_kernels())
      json["nanoseconds_per_element"][kernel.name()] = 1e9 * figures.kernels->per_element(kernel);
  }
  json["network"] = Json::object();
  const auto add = [&](const char* key, bool is_known, auto value) {
    if (is_known) json["network"][key] = value;
  };
  const auto knows = [&](const char* option) { return figures.known.contains(option); };
  add("ranks_per_node", knows("--ranks-per-node"), network.ranks_per_node);
  add("node_latency_seconds", knows("--node-latency"), network.node_latency_seconds);
  add("node_bytes_per_second", network.node_bytes_per_second > 0.0, network.node_bytes_per_second);
  add("latency_seconds", knows("--latency"), network.latency_seconds);
  add("message_seconds", knows("--message-cost"), network.message_seconds);
  add("link_bytes_per_second", figures.has_link(), network.link_bytes_per_second);
  launch::write_file(file, json.dump(2) + '\n');
}

}  // namespace kadam::plan_program
