// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <configuration/help_entry.hpp>
#include <kadam/optim/optimizer_names.hpp>
#include <train/configuration.hpp>
#include <train/key_help.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace kadam::train {
namespace {

using configuration::help_entries;
using configuration::help_entry;
using Options = std::vector<OptionHelp>;

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
  return "\nKeys of a parameter group, [[optimizer.groups]]; the first group that fits a tensor counts:\n" +
         help_entry("tensors", "which tensors: a pattern of names, * stands for any characters") +
         help_entry("lr_scale", "factor on the learning rate", "1") +
         help_entry("weight_decay", "instead of the optimizer's") +
         help_entry("dense", "keep out of compression, exchange as an exact mean", "false");
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
