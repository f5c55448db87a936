// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <configuration/keys.hpp>
#include <configuration/option_value.hpp>

#include <fmt/format.h>

#include <stdexcept>

namespace kadam::configuration {
namespace {

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

void assign(Keys& keys, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw std::runtime_error(
        fmt::format("--set {}: expected section.key=value, as in optimizer.lr=0.001", assignment));
  }
  take(keys, assignment.substr(0, equals), parse_toml_value(assignment.substr(equals + 1)));
}

}  // namespace

Keys read_keys(const std::filesystem::path& file, const std::vector<std::string>& assignments) {
  Keys keys;
  if (!file.empty()) take_table(keys, read_toml(file), "");
  for (const std::string& assignment : assignments) assign(keys, assignment);
  return keys;
}

}  // namespace kadam::configuration
