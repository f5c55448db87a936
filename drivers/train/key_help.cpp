// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/optimizer_names.hpp>
#include <train/configuration.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace kadam::train {
namespace {

using Options = std::vector<OptionHelp>;

/// "  key    meaning (default)", the meaning continued below itself, in lines of at most 100 characters.
std::string help_entry(const std::string& key, const std::string& meaning, const std::string& fallback = "") {
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

/// One for every key, with its value as the default.
std::string help_entries(const OptionFields& keys) {
  std::string text;
  for (const OptionField& field : keys.fields()) text += help_entry({field.name, field.get(), field.help});
  return text;
}

const OptionHelp* find(const Options& options, const std::string& name) {
  const auto same_name = [&](const OptionHelp& option) { return option.name == name; };
  const auto found = std::find_if(options.begin(), options.end(), same_name);
  return found == options.end() ? nullptr : &*found;
}

/// What every optimizer has, with the first one's defaults.
Options common_options() {
  Options common;
  for (const OptionHelp& option : optimizer_options(optimizer_names().front())) {
    bool everywhere = true;
    for (const std::string& name : optimizer_names()) {
      everywhere = everywhere && find(optimizer_options(name), option.name) != nullptr;
    }
    if (everywhere) common.push_back(option);
  }
  return common;
}

std::string optimizer_help() {
  const Options common = common_options();
  std::string text =
      "\nOptions of every optimizer (optimizer.KEY for all, optimizer.NAME.KEY for one alone):\n";
  for (const OptionHelp& option : common) text += help_entry(option);
  for (const std::string& name : optimizer_names()) {
    std::string own;
    for (const OptionHelp& option : optimizer_options(name)) {
      const OptionHelp* shared = find(common, option.name);
      if (shared == nullptr || shared->value != option.value) own += help_entry(option);
    }
    if (!own.empty()) text += fmt::format("\nOptions and defaults of {}:\n", name) + own;
  }
  return text;
}

std::string group_help() {
  return "\nKeys of a parameter group, [[optimizer.groups]]; a tensor is in the first group that matches "
         "it:\n" +
         help_entry("tensors", "pattern of the names of tensors, where * stands for any characters") +
         help_entry("lr_scale", "factor on the learning rate", "1") +
         help_entry("weight_decay", "weight decay of these tensors, instead of the optimizer's") +
         help_entry("dense", "exchange these tensors as an exact mean, without compression", "false");
}

}  // namespace

std::string key_help() {
  Configuration defaults;
  OptionFields fields;
  defaults.describe(fields);
  std::string text = "Keys of the configuration:\n";
  text += help_entries(fields);
  const std::string names = fmt::format("one of {}", fmt::join(optimizer_names(), ", "));
  text += help_entry("optimizer.name", names, defaults.optimizer.name);
  return text + optimizer_help() + group_help();
}

}  // namespace kadam::train
