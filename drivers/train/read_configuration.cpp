// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <train/configuration.hpp>
#include <train/toml_tree.hpp>

namespace kadam::train {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::runtime_error(sentence);
}

std::vector<double> to_numbers(const std::string& key, const std::vector<TomlNode>& entries) {
  std::vector<double> list;
  list.reserve(entries.size());
  for (const TomlNode& entry : entries) {
    if (const auto* number = std::get_if<double>(&entry.value)) {
      list.push_back(*number);
    } else if (const auto* integer = std::get_if<std::int64_t>(&entry.value)) {
      list.push_back(static_cast<double>(*integer));
    } else {
      refuse(fmt::format("'{}': expected a list of numbers", key));
    }
  }
  return list;
}

OptionValue to_option(const std::string& key, const TomlNode& node) {
  if (node.kind == TomlNode::Kind::value)
    return std::visit([](const auto& value) -> OptionValue { return value; }, node.value);
  if (node.kind == TomlNode::Kind::array) return to_numbers(key, node.children);
  refuse(fmt::format("'{}': expected a number, a text, true, false or a list of numbers", key));
}

double not_negative(const char* name, double value) {
  if (std::isfinite(value) && value >= 0.0) return value;
  refuse(fmt::format("'optimizer.groups': '{}': expected a number >= 0, got {}", name, value));
}

ParameterGroup to_group(const TomlNode& node) {
  if (node.kind != TomlNode::Kind::table)
    refuse("'optimizer.groups': expected tables, as in [[optimizer.groups]]");
  ParameterGroup group;
  double weight_decay = 0.0;
  OptionFields fields;
  fields.add("tensors", group.tensors, "");
  fields.add("lr_scale", group.lr_scale, "");
  fields.add("weight_decay", weight_decay, "");
  fields.add("dense", group.dense, "");
  OptionMap values;
  for (const TomlNode& entry : node.children) {
    values[entry.key] = to_option("optimizer.groups." + entry.key, entry);
  }
  fields.read("optimizer.groups", values);
  if (group.tensors.empty())
    refuse("'optimizer.groups': each group needs 'tensors', a pattern of tensor names");
  not_negative("lr_scale", group.lr_scale);
  if (values.contains("weight_decay")) group.weight_decay = not_negative("weight_decay", weight_decay);
  return group;
}

std::vector<ParameterGroup> to_groups(const TomlNode& node) {
  if (node.kind != TomlNode::Kind::array)
    refuse("'optimizer.groups': expected tables, as in [[optimizer.groups]]");
  std::vector<ParameterGroup> groups;
  groups.reserve(node.children.size());
  for (const TomlNode& group : node.children) groups.push_back(to_group(group));
  return groups;
}

/// That `key`, optimizer.ALGORITHM.OPTION, names what there is, even if that algorithm is not run.
void require_option_of(const std::string& key, const std::string& algorithm, const std::string& option) {
  const std::vector<std::string> names = optimizer_names();
  if (std::find(names.begin(), names.end(), algorithm) == names.end()) {
    refuse(fmt::format("'{}': there is no optimizer '{}': choose one of {}", key, algorithm,
                       fmt::join(names, ", ")));
  }
  std::vector<std::string> known;
  for (const OptionHelp& help : optimizer_options(algorithm)) known.push_back(help.name);
  if (std::find(known.begin(), known.end(), option) == known.end()) {
    refuse(fmt::format("'{}': {} has no option '{}': its options are {}", key, algorithm, option,
                       fmt::join(known, ", ")));
  }
}

/// What was read, key by key, before anything is interpreted.
struct Keys {
  OptionMap general;  ///< section.key of data, model, training
  Configuration* target;

  void take(const std::string& key, const OptionValue& value) {
    const std::string prefix = "optimizer.";
    if (!key.starts_with(prefix)) {
      general[key] = value;
      return;
    }
    const std::string rest = key.substr(prefix.size());
    const std::size_t dot = rest.find('.');
    if (rest == "name") {
      const auto* name = std::get_if<std::string>(&value);
      if (name == nullptr) refuse("'optimizer.name': expected a text, got " + to_text(value));
      target->optimizer = *name;
    } else if (dot == std::string::npos) {
      target->optimizer_options[rest] = value;
    } else {
      const std::string algorithm = rest.substr(0, dot);
      const std::string option = rest.substr(dot + 1);
      require_option_of(key, algorithm, option);
      target->algorithm_options[algorithm][option] = value;
    }
  }

  void take_node(const std::string& key, const TomlNode& node) {
    if (key == "optimizer.groups") {
      target->groups = to_groups(node);
    } else if (node.kind == TomlNode::Kind::table) {
      take_table(node, key + ".");
    } else {
      take(key, to_option(key, node));
    }
  }

  void take_table(const TomlNode& table, const std::string& prefix) {
    for (const TomlNode& node : table.children) take_node(prefix + node.key, node);
  }
};

void assign(Keys& keys, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    refuse(fmt::format("--set {}: expected section.key=value, as in optimizer.lr=0.001", assignment));
  }
  const std::string key = assignment.substr(0, equals);
  keys.take_node(key, parse_toml_value(assignment.substr(equals + 1)));
}

std::string expand_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

}  // namespace

Configuration read_configuration(const std::filesystem::path& file,
                                 const std::vector<std::string>& assignments) {
  Configuration configuration;
  Keys keys{{}, &configuration};
  if (!file.empty()) keys.take_table(read_toml(file), "");
  for (const std::string& assignment : assignments) assign(keys, assignment);
  OptionFields fields;
  configuration.describe(fields);
  fields.read("the configuration", keys.general);
  configuration.training.validate();
  configuration.data.path = expand_home(configuration.data.path);
  configuration.data.text.mask_seed = static_cast<std::uint64_t>(configuration.training.seed);
  configuration.data.validate();
  configuration.model.validate();
  return configuration;
}

}  // namespace kadam::train
