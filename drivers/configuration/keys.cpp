// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <configuration/keys.hpp>
#include <kadam/optim/optimizer_names.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace kadam::configuration {
namespace {

std::vector<double> numbers(const std::string& key, const std::vector<TomlNode>& entries) {
  std::vector<double> list;
  list.reserve(entries.size());
  for (const TomlNode& entry : entries) {
    if (const auto* number = std::get_if<double>(&entry.value)) {
      list.push_back(*number);
    } else if (const auto* integer = std::get_if<std::int64_t>(&entry.value)) {
      list.push_back(static_cast<double>(*integer));
    } else {
      throw std::runtime_error(fmt::format("'{}': expected a list of numbers", key));
    }
  }
  return list;
}

/// The value of `node` as an option's. Errors: std::runtime_error with the key for tables, dates and lists of
/// anything but numbers.
OptionValue option_value(const std::string& key, const TomlNode& node) {
  if (node.kind == TomlNode::Kind::value)
    return std::visit([](const auto& value) -> OptionValue { return value; }, node.value);
  if (node.kind == TomlNode::Kind::array) return numbers(key, node.children);
  throw std::runtime_error(
      fmt::format("'{}': expected a number, a text, true, false or a list of numbers", key));
}

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::runtime_error(sentence);
}

ParameterGroup to_group(const TomlNode& node) {
  if (node.kind != TomlNode::Kind::table)
    refuse("'optimizer.groups': expected tables, as in [[optimizer.groups]]");
  OptionMap values;
  for (const TomlNode& entry : node.children) {
    values[entry.key] = option_value("optimizer.groups." + entry.key, entry);
  }
  return read_group("optimizer.groups", values);
}

std::vector<ParameterGroup> to_groups(const TomlNode& node) {
  if (node.kind != TomlNode::Kind::array)
    refuse("'optimizer.groups': expected tables, as in [[optimizer.groups]]");
  std::vector<ParameterGroup> groups;
  groups.reserve(node.children.size());
  for (const TomlNode& group : node.children) groups.push_back(to_group(group));
  return groups;
}

/// Checks that `key`, optimizer.ALGORITHM.OPTION, names an algorithm and an option that exist, even if that
/// algorithm is not run.
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

void take_table(Keys& keys, const TomlNode& table, const std::string& prefix);

void take(Keys& keys, const std::string& key, const TomlNode& node) {
  const std::string of_optimizer = "optimizer.";
  if (key.starts_with(of_optimizer)) {
    keys.optimizer.set(key.substr(of_optimizer.size()), node);
  } else if (node.kind == TomlNode::Kind::table) {
    take_table(keys, node, key + ".");
  } else {
    keys.general[key] = option_value(key, node);
  }
}

void take_table(Keys& keys, const TomlNode& table, const std::string& prefix) {
  for (const TomlNode& node : table.children) take(keys, prefix + node.key, node);
}

struct Assignment {
  std::string key;
  TomlNode value;
};

/// expected: what is right, for the error.
Assignment split(const std::string& assignment, const char* expected) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    refuse(fmt::format("--set {}: expected {}", assignment, expected));
  return {assignment.substr(0, equals), parse_toml_value(assignment.substr(equals + 1))};
}

}  // namespace

OptionMap OptimizerSettings::options_for(const std::string& algorithm) const {
  OptionMap all = options;
  const auto own = algorithm_options.find(algorithm);
  if (own != algorithm_options.end()) {
    for (const auto& [option, value] : own->second) all[option] = value;
  }
  return all;
}

void OptimizerSettings::set(const std::string& key, const TomlNode& node) {
  const std::string whole = "optimizer." + key;
  if (key == "groups") {
    groups = to_groups(node);
    return;
  }
  if (node.kind == TomlNode::Kind::table) {
    for (const TomlNode& entry : node.children) set(key + "." + entry.key, entry);
    return;
  }
  const OptionValue value = option_value(whole, node);
  const std::size_t dot = key.find('.');
  if (key == "name") {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) refuse("'optimizer.name': expected a text, got " + to_text(value));
    name = *text;
  } else if (dot == std::string::npos) {
    options[key] = value;
  } else {
    const std::string algorithm = key.substr(0, dot);
    const std::string option = key.substr(dot + 1);
    require_option_of(whole, algorithm, option);
    algorithm_options[algorithm][option] = value;
  }
}

OptimizerSettings resolved(const OptimizerSettings& settings, const std::string& algorithm,
                           const OptionMap& options) {
  return {algorithm, options, {}, settings.groups};
}

Keys read_keys(const std::filesystem::path& file, const std::vector<std::string>& assignments) {
  Keys keys;
  if (!file.empty()) take_table(keys, read_toml(file), "");
  for (const std::string& assignment : assignments) {
    const auto [key, value] = split(assignment, "section.key=value, as in optimizer.lr=0.001");
    take(keys, key, value);
  }
  return keys;
}

OptimizerSettings read_optimizer(const std::filesystem::path& file,
                                 const std::vector<std::string>& assignments, OptimizerSettings settings) {
  Keys keys{{}, std::move(settings)};
  if (!file.empty()) take_table(keys, read_toml(file), "");
  const std::string section = "optimizer.";
  for (const std::string& assignment : assignments) {
    const auto [key, value] = split(assignment, "key=value, as in lr=0.001");
    keys.optimizer.set(key.starts_with(section) ? key.substr(section.size()) : key, value);
  }
  return std::move(keys.optimizer);
}

}  // namespace kadam::configuration
