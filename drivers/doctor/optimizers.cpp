// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctor/optimizers.hpp>
#include <kadam/optim/optimizer_names.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <utility>
#include <variant>
#include <vector>

namespace kadam::doctor {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const OptionValue& value) {
  return std::visit([](const auto& held) -> Json { return held; }, value);
}

Json options_of(const std::string& name) {
  Json all = Json::array();
  for (const OptionHelp& option : optimizer_options(name)) {
    all.push_back({{"name", option.name}, {"default", to_json(option.value)}, {"help", option.help}});
  }
  return all;
}

std::vector<std::string> words_of(const OptimizerTraits& traits) {
  std::vector<std::string> words;
  if (traits.dense) words.emplace_back("sends exact means");
  if (!traits.codes.empty()) words.push_back(fmt::format("codes: {}", fmt::join(traits.codes, ", ")));
  if (traits.sparse) words.emplace_back("sends the largest entries");
  if (traits.freezes) words.emplace_back("freezes the variance");
  if (traits.local_moments) words.emplace_back("moments of each rank");
  if (traits.shards) words.emplace_back("moments in shards");
  if (traits.ranks_differ) words.emplace_back("ranks may differ between synchronisations");
  if (traits.needs_warmup) words.push_back("needs " + traits.warmup);
  return words;
}

}  // namespace

std::string optimizers_as_text() {
  std::string text;
  for (const std::string& name : optimizer_names()) {
    text += fmt::format("{:<26}{}\n", name, fmt::join(words_of(optimizer_traits(name)), "; "));
  }
  return text;
}

std::string optimizers_as_json() {
  Json all = Json::array();
  for (const std::string& name : optimizer_names()) {
    const OptimizerTraits& traits = optimizer_traits(name);
    all.push_back({{"name", name},
                   {"dense", traits.dense},
                   {"warmup", traits.warmup},
                   {"needs_warmup", traits.needs_warmup},
                   {"freezes", traits.freezes},
                   {"sparse", traits.sparse},
                   {"local_moments", traits.local_moments},
                   {"shards", traits.shards},
                   {"per_tensor", traits.per_tensor},
                   {"ranks_differ", traits.ranks_differ},
                   {"codes", traits.codes},
                   {"options", options_of(name)}});
  }
  return all.dump(2) + "\n";
}

}  // namespace kadam::doctor
