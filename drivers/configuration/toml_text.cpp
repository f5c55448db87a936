// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <configuration/keys.hpp>

#include <fmt/format.h>

namespace kadam::configuration {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (code < 0x20 || code == 0x7f) {
      result += fmt::format("\\u{:04x}", code);
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string line(const std::string& key, const OptionValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return fmt::format("{} = {}\n", key, text != nullptr ? quoted(*text) : to_text(value));
}

std::string lines(const OptionMap& options) {
  std::string result;
  for (const auto& [name, value] : options) result += line(name, value);
  return result;
}

std::string group_lines(const ParameterGroup& group) {
  std::string result = "\n[[optimizer.groups]]\n" + line("tensors", group.tensors);
  result += line("lr_scale", group.lr_scale);
  if (group.weight_decay) result += line("weight_decay", *group.weight_decay);
  return result + line("dense", group.dense);
}

std::string sections(const OptionFields& keys) {
  std::string text;
  std::string section;
  for (const OptionField& field : keys.fields()) {
    const std::size_t dot = field.name.find('.');
    if (section != field.name.substr(0, dot)) {
      if (!section.empty()) text += '\n';
      section = field.name.substr(0, dot);
      text += fmt::format("[{}]\n", section);
    }
    text += line(field.name.substr(dot + 1), field.get());
  }
  return text;
}

}  // namespace

std::string toml_text(const OptionFields& keys, const OptimizerSettings& optimizer) {
  std::string text =
      sections(keys) + "\n[optimizer]\n" + line("name", optimizer.name) + lines(optimizer.options);
  for (const auto& [algorithm, options] : optimizer.algorithm_options) {
    text += fmt::format("\n[optimizer.{}]\n", algorithm) + lines(options);
  }
  for (const ParameterGroup& group : optimizer.groups) text += group_lines(group);
  return text;
}

}  // namespace kadam::configuration
