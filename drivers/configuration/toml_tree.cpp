// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <configuration/toml_tree.hpp>

#include <fmt/format.h>
#include <toml++/toml.h>

#include <stdexcept>

namespace kadam::configuration {
namespace {

TomlNode to_tree(const std::string& key, const toml::node& node) {
  TomlNode tree;
  tree.key = key;
  const auto is_value = [&](const auto& value) {
    tree.kind = TomlNode::Kind::value;
    tree.value = value;
  };
  if (const auto flag = node.value_exact<bool>()) {
    is_value(*flag);
  } else if (const auto integer = node.value_exact<std::int64_t>()) {
    is_value(*integer);
  } else if (const auto number = node.value_exact<double>()) {
    is_value(*number);
  } else if (const auto text = node.value_exact<std::string>()) {
    is_value(*text);
  } else if (const toml::array* array = node.as_array()) {
    tree.kind = TomlNode::Kind::array;
    tree.children.reserve(array->size());
    for (const toml::node& entry : *array) tree.children.push_back(to_tree("", entry));
  } else if (const toml::table* table = node.as_table()) {
    tree.kind = TomlNode::Kind::table;
    tree.children.reserve(table->size());
    for (const auto& [name, entry] : *table) tree.children.push_back(to_tree(std::string(name.str()), entry));
  }
  return tree;
}

}  // namespace

TomlNode read_toml(const std::filesystem::path& file) {
  const std::string name = file.string();
  if (!std::filesystem::exists(file))
    throw std::runtime_error(fmt::format("{}: there is no such file", name));
  // A folder would be read as an empty file.
  if (std::filesystem::is_directory(file))
    throw std::runtime_error(fmt::format("{}: expected a file, found a folder", name));
  try {
    return to_tree("", toml::parse_file(name));
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(
        fmt::format("{}: line {}: {}", name, error.source().begin.line, error.description()));
  }
}

TomlNode parse_toml_value(const std::string& text) {
  try {
    return to_tree("", *toml::parse("value = " + text).get("value"));
  } catch (const toml::parse_error&) {
    TomlNode word;
    word.kind = TomlNode::Kind::value;
    word.value = text;
    return word;
  }
}

}  // namespace kadam::configuration
