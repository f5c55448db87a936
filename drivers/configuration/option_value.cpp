// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <configuration/option_value.hpp>

#include <fmt/format.h>

#include <stdexcept>
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

}  // namespace

OptionValue option_value(const std::string& key, const TomlNode& node) {
  if (node.kind == TomlNode::Kind::value)
    return std::visit([](const auto& value) -> OptionValue { return value; }, node.value);
  if (node.kind == TomlNode::Kind::array) return numbers(key, node.children);
  throw std::runtime_error(
      fmt::format("'{}': expected a number, a text, true, false or a list of numbers", key));
}

}  // namespace kadam::configuration
