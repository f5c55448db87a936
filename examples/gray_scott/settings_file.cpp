// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads settings from TOML. Compiled as plain C++, also where kernels are compiled for a device.
#include "settings.hpp"
#include <kadam/optim/optimizer_names.hpp>

#include <fmt/format.h>
#include <toml++/toml.h>

#include <sstream>
#include <stdexcept>

namespace gray_scott {
namespace {

using kadam::OptionMap;

toml::table read_file(const std::filesystem::path& file) {
  if (file.empty()) return {};
  if (!std::filesystem::exists(file)) throw std::runtime_error(file.string() + ": there is no such file");
  try {
    return toml::parse_file(file.string());
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(
        fmt::format("{}: line {}: {}", file.string(), error.source().begin.line, error.description()));
  }
}

/// Reads an assignment: TOML, but words need no quotation marks.
toml::table read_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || text.find('.') > equals) {
    throw std::runtime_error(
        fmt::format("--set {}: expected section.key=value, as in optimizer.lr=0.001", text));
  }
  try {
    return toml::parse(text);
  } catch (const toml::parse_error&) {
    return toml::parse(fmt::format("{} = '{}'", text.substr(0, equals), text.substr(equals + 1)));
  }
}

/// Merges two tables; keys of `more` override.
void merge(toml::table& table, const toml::table& more) {
  for (const auto& [key, node] : more) {
    toml::table* const inner = table[key.str()].as_table();
    if (inner != nullptr && node.is_table()) {
      merge(*inner, *node.as_table());
    } else {
      table.insert_or_assign(key.str(), node);
    }
  }
}

kadam::OptionValue value_of(const std::string& key, const toml::node& node) {
  if (const auto flag = node.value_exact<bool>()) return *flag;
  if (const auto integer = node.value_exact<std::int64_t>()) return *integer;
  if (const auto number = node.value_exact<double>()) return *number;
  if (const auto text = node.value_exact<std::string>()) return *text;
  std::vector<double> numbers;
  const toml::array* const list = node.as_array();
  for (std::size_t k = 0; list != nullptr && k < list->size(); ++k) {
    if (const auto number = list->get(k)->value<double>()) numbers.push_back(*number);
  }
  if (list != nullptr && numbers.size() == list->size()) return numbers;
  throw std::runtime_error(
      fmt::format("'{}': expected a number, a text, true, false or a list of numbers", key));
}

OptionMap values_of(const std::string& section, const toml::table& table) {
  OptionMap values;
  for (const auto& [key, node] : table) {
    const std::string name = fmt::format("{}{}", section, key.str());
    const auto inner =
        node.is_table() ? values_of(name + ".", *node.as_table()) : OptionMap{{name, value_of(name, node)}};
    values.insert(inner.begin(), inner.end());
  }
  return values;
}

std::vector<kadam::ParameterGroup> groups_of(const toml::node_view<toml::node>& node) {
  std::vector<kadam::ParameterGroup> groups;
  if (node && !node.is_array_of_tables()) {
    throw std::runtime_error("'optimizer.groups': expected tables, as in [[optimizer.groups]]");
  }
  for (std::size_t k = 0; node && k < node.as_array()->size(); ++k) {
    groups.push_back(kadam::read_group("optimizer.groups", values_of("", *node[k].as_table())));
  }
  return groups;
}

/// Reads [optimizer], and [optimizer.NAME] of the optimizer that runs; the tables of others are only checked.
OptimizerSettings optimizer_of(toml::table optimizer) {
  OptimizerSettings settings;
  settings.name = optimizer["name"].value_or(settings.name);
  settings.groups = groups_of(optimizer["groups"]);
  optimizer.erase("name");
  optimizer.erase("groups");
  OptionMap own;
  for (const auto& [key, value] : values_of("", optimizer)) {
    const std::size_t dot = key.find('.');
    const std::string name = key.substr(0, dot);
    if (dot == std::string::npos) {
      settings.options[key] = value;
    } else if (!kadam::has_option(name, key.substr(dot + 1))) {
      throw std::runtime_error(fmt::format("'optimizer.{}': {} has no such option", key, name));
    } else if (name == settings.name) {
      own[key.substr(dot + 1)] = value;
    }
  }
  own.merge(settings.options);
  settings.options = own;
  return settings;
}

}  // namespace

Settings read_settings(const std::filesystem::path& file, const std::vector<std::string>& assignments,
                       const std::string& optimizer) {
  toml::table table = read_file(file);
  for (const std::string& assignment : assignments) merge(table, read_assignment(assignment));
  if (!optimizer.empty()) merge(table, toml::table{{"optimizer", toml::table{{"name", optimizer}}}});
  std::ostringstream text;
  text << table << '\n';
  Settings settings;
  settings.toml = text.str();
  if (const toml::table* const inner = table["optimizer"].as_table()) {
    settings.optimizer = optimizer_of(*inner);
    table.erase("optimizer");
  }
  kadam::OptionFields fields;
  settings.describe(fields);
  fields.read("the configuration", values_of("", table));
  settings.validate();
  return settings;
}

}  // namespace gray_scott
