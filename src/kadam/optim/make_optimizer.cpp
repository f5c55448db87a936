// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/adam.hpp>
#include <kadam/optim/divisible_adam.hpp>
#include <kadam/optim/efficient_adam.hpp>
#include <kadam/optim/frozen_variance_adam.hpp>
#include <kadam/optim/lamb.hpp>
#include <kadam/optim/locally_accumulated_adam.hpp>
#include <kadam/optim/loco.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/optim/onebit_lamb.hpp>
#include <kadam/optim/zero_one_adam.hpp>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace kadam {
namespace {

using Groups = std::vector<ParameterGroup>;
using SharedCommunicator = std::shared_ptr<Communicator>;

struct Algorithm {
  std::string name;
  OptimizerTraits traits;
  std::unique_ptr<Optimizer> (*make)(std::string_view, const OptionMap&, TensorLayout, SharedCommunicator,
                                     const Groups&);
  std::vector<OptionHelp> (*options)();
};

/// The words of the option `code`; none without it.
template <class Options>
std::vector<std::string> codes_of() {
  Options options;
  OptionFields fields;
  options.describe(fields);
  for (const OptionField& field : fields.fields()) {
    if (field.name == "code") return field.words;
  }
  return {};
}

template <class Options>
std::vector<OptionHelp> help_of() {
  Options options;
  OptionFields fields;
  options.describe(fields);
  std::vector<OptionHelp> help;
  for (const OptionField& field : fields.fields()) help.push_back({field.name, field.get(), field.help});
  return help;
}

template <class Type, class Options>
std::unique_ptr<Optimizer> make(std::string_view name, const OptionMap& values, TensorLayout layout,
                                SharedCommunicator communicator, const Groups& groups) {
  auto options = read_options<Options>(name, values);
  options.common.groups = groups;
  options.validate();
  if constexpr (std::is_same_v<Options, typename Type::Options>) {
    return std::make_unique<Type>(options, std::move(layout), std::move(communicator));
  } else {  // one of several names
    return std::make_unique<Type>(name, options, std::move(layout), std::move(communicator));
  }
}

template <class Type, class Options = typename Type::Options>
Algorithm row(std::string name, OptimizerTraits traits) {
  traits.codes = codes_of<Options>();
  return {std::move(name), std::move(traits), make<Type, Options>, help_of<Options>};
}

/// THE table: whatever lists optimizers, or wants to know of what kind they are, asks it.
const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> all = {
      row<Adam>("adam", {.dense = true}),
      row<Lamb>("lamb", {.dense = true, .per_tensor = true}),
      row<FrozenVarianceAdam, FrozenVarianceAdam::OnebitAdam>(
          "onebit_adam", {.warmup = "warmup_steps", .needs_warmup = true, .freezes = true}),
      row<FrozenVarianceAdam, FrozenVarianceAdam::Apmsqueeze>(
          "apmsqueeze", {.warmup = "warmup_steps", .needs_warmup = true, .freezes = true}),
      row<ZeroOneAdam>(
          "zero_one_adam",
          {.warmup = "variance_freeze_step", .needs_warmup = true, .freezes = true, .ranks_differ = true}),
      row<OnebitLamb>("onebit_lamb",
                      {.warmup = "warmup_steps", .needs_warmup = true, .freezes = true, .per_tensor = true}),
      row<EfficientAdam>("efficient_adam", {.local_moments = true}),
      row<Loco>("loco", {.shards = true}),
      row<LocallyAccumulatedAdam>(
          "locally_accumulated_adam",
          {.warmup = "warmup_steps", .sparse = true, .local_moments = true, .ranks_differ = true}),
      row<DivisibleAdam>(
          "divisible_adam",
          {.warmup = "warmup_steps", .sparse = true, .local_moments = true, .ranks_differ = true}),
  };
  return all;
}

const Algorithm& find_algorithm(std::string_view name) {
  std::string known;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) return algorithm;
    known += (known.empty() ? "" : ", ") + algorithm.name;
  }
  throw std::invalid_argument("there is no optimizer '" + std::string(name) + "': choose one of " + known);
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  names.reserve(algorithms().size());
  for (const Algorithm& algorithm : algorithms()) names.emplace_back(algorithm.name);
  return names;
}

std::vector<OptionHelp> optimizer_options(std::string_view name) {
  return find_algorithm(name).options();
}

const OptimizerTraits& optimizer_traits(std::string_view name) {
  return find_algorithm(name).traits;
}

bool has_option(std::string_view optimizer, std::string_view option) {
  const std::vector<OptionHelp> all = optimizer_options(optimizer);
  return std::any_of(all.begin(), all.end(), [&](const OptionHelp& help) { return help.name == option; });
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const OptionMap& options,
                                          TensorLayout layout,
                                          const std::shared_ptr<Communicator>& communicator,
                                          const Groups& groups) {
  if (communicator == nullptr) {
    throw std::invalid_argument(
        "kadam::make_optimizer: expected a communicator, got none: Communicator::self() is the one for a "
        "single rank");
  }
  std::unique_ptr<Optimizer> optimizer;
  std::exception_ptr failure;
  try {
    optimizer = find_algorithm(name).make(name, options, std::move(layout), communicator, groups);
  } catch (...) {
    failure = std::current_exception();
  }
  communicator->require_success(failure);
  optimizer->require_agreement();
  return optimizer;
}

}  // namespace kadam
