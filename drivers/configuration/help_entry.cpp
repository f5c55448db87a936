// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <configuration/help_entry.hpp>

#include <fmt/format.h>

#include <sstream>
#include <vector>

namespace kadam::configuration {

std::string help_entry(const std::string& key, const std::string& meaning, const std::string& fallback) {
  constexpr std::size_t column = 30;
  constexpr std::size_t width = 100;
  std::vector<std::string> words;
  std::istringstream stream(meaning);
  for (std::string word; stream >> word;) words.push_back(word);
  if (!fallback.empty()) words.push_back(fmt::format("(default {})", fallback));
  std::string text;
  std::string line = fmt::format("  {:<{}}", key, column - 2);
  for (const std::string& word : words) {
    if (line.size() > column && line.size() + 1 + word.size() > width) {
      text += line + '\n';
      line = std::string(column, ' ');
    }
    if (line.size() > column) line += ' ';
    line += word;
  }
  return text + line + '\n';
}

std::string help_entry(const OptionHelp& option) {
  const std::string value = to_text(option.value);
  return help_entry(option.name, option.help, value == "\"\"" ? "" : value);
}

std::string help_entries(const OptionFields& keys) {
  std::string text;
  for (const OptionField& field : keys.fields()) text += help_entry({field.name, field.get(), field.help});
  return text;
}

}  // namespace kadam::configuration
