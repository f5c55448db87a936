// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <insitu/settings.hpp>
#include <stdexcept>
#include <train/toml_tree.hpp>

namespace kadam::insitu {
namespace {

using train::TomlNode;

OptionValue to_option(const std::string& key, const TomlNode& node) {
  if (node.kind == TomlNode::Kind::value)
    return std::visit([](const auto& value) -> OptionValue { return value; }, node.value);
  std::vector<double> list;
  for (const TomlNode& entry : node.children) {
    const auto* integer = std::get_if<std::int64_t>(&entry.value);
    const auto* number = std::get_if<double>(&entry.value);
    if (entry.kind != TomlNode::Kind::value || (integer == nullptr && number == nullptr))
      throw std::runtime_error(fmt::format("'{}': expected a list of numbers", key));
    list.push_back(integer != nullptr ? static_cast<double>(*integer) : *number);
  }
  return list;
}

/// A node as TOML writes it in one line.
std::string to_line(const TomlNode& node) {
  if (node.kind == TomlNode::Kind::value) return to_text(to_option("", node));
  std::vector<std::string> parts;
  const bool is_table = node.kind == TomlNode::Kind::table;
  for (const TomlNode& child : node.children) {
    parts.push_back(is_table ? fmt::format("\"{}\" = {}", child.key, to_line(child)) : to_line(child));
  }
  return fmt::format("{}{}{}", is_table ? "{" : "[", fmt::join(parts, ", "), is_table ? "}" : "]");
}

/// What was read, before it is interpreted.
struct Read {
  OptionMap own;                          ///< section.key of solver, surrogate and training
  std::vector<std::string> of_optimizer;  ///< assignments that kadam-train understands

  void take(const std::string& key, const TomlNode& node) {
    if (key == "optimizer" || key.starts_with("optimizer.")) {
      of_optimizer.push_back(key + "=" + to_line(node));
    } else if (node.kind == TomlNode::Kind::table) {
      for (const TomlNode& child : node.children)
        take(key.empty() ? child.key : key + "." + child.key, child);
    } else {
      own[key] = to_option(key, node);
    }
  }

  void assign(const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw std::runtime_error(
          fmt::format("--set {}: expected section.key=value, as in solver.feed=0.03", assignment));
    }
    take(assignment.substr(0, equals), train::parse_toml_value(assignment.substr(equals + 1)));
  }
};

}  // namespace

void OnlineOptions::describe(OptionFields& fields) {
  fields.add("training.jumps", jumps, "jumps of the solver while the surrogate learns");
  fields.add("training.steps_per_jump", steps_per_jump, "optimizer steps after each of them");
  fields.add("training.batch", batch, "examples per rank and step: cells of the rank's own block");
  fields.add("training.seed", seed, "seed of the initial parameters and of the examples");
  fields.add("training.evaluate_every", evaluate_every,
             "jumps between evaluations, each on a jump not seen yet");
  fields.add("training.unseen_jumps", unseen_jumps, "jumps after training on which the surrogate is judged");
}

void OnlineOptions::validate() const {
  const std::string owner = "training";
  require_option(jumps > 0, owner, "'jumps': expected 1 or more");
  require_option(steps_per_jump > 0, owner, "'steps_per_jump': expected 1 or more");
  require_option(batch > 0, owner, "'batch': expected 1 or more examples per rank");
  require_option(seed >= 0, owner, "'seed': expected 0 or more");
  require_option(evaluate_every > 0, owner, "'evaluate_every': expected 1 or more jumps");
  require_option(unseen_jumps > 0, owner, "'unseen_jumps': expected 1 or more");
}

void Settings::describe(OptionFields& fields) {
  solver.describe(fields);
  surrogate.describe(fields);
  training.describe(fields);
}

Settings read_settings(const std::filesystem::path& file, const std::vector<std::string>& assignments,
                       const std::string& optimizer) {
  Read read;
  if (!file.empty()) read.take("", train::read_toml(file));
  for (const std::string& assignment : assignments) read.assign(assignment);
  if (!optimizer.empty()) read.of_optimizer.push_back("optimizer.name=" + optimizer);
  Settings settings;
  OptionFields fields;
  settings.describe(fields);
  fields.read("the configuration", read.own);
  settings.solver.validate();
  settings.surrogate.validate();
  settings.training.validate();
  const train::Configuration trained = train::read_configuration({}, read.of_optimizer);
  settings.optimizer = trained.optimizer;
  settings.optimizer_options = trained.options_for(trained.optimizer);
  settings.groups = trained.groups;
  return settings;
}

std::string to_toml(const Settings& settings, const OptionMap& resolved_options) {
  Settings copy = settings;
  OptionFields fields;
  copy.describe(fields);
  std::string text;
  std::string section;
  for (const OptionField& field : fields.fields()) {
    const std::size_t dot = field.name.find('.');
    if (section != field.name.substr(0, dot)) {
      text += section.empty() ? "" : "\n";
      section = field.name.substr(0, dot);
      text += fmt::format("[{}]\n", section);
    }
    text += fmt::format("{} = {}\n", field.name.substr(dot + 1), to_text(field.get()));
  }
  train::Configuration trained;
  trained.groups = settings.groups;
  const std::string all = train::to_toml(trained, settings.optimizer, resolved_options);
  return text + all.substr(all.find("\n[optimizer]"));
}

std::string key_help() {
  Settings defaults;
  OptionFields fields;
  defaults.describe(fields);
  std::string text = "Keys of the configuration:\n";
  for (const OptionField& field : fields.fields()) {
    text += fmt::format("  {:<25} {} (default {})\n", field.name, field.help, to_text(field.get()));
  }
  return text + "  optimizer.KEY             of the optimizer: kadam-train --help lists them all\n";
}

}  // namespace kadam::insitu
