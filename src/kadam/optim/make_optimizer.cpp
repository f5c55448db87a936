// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/adam.hpp>
#include <kadam/optim/divisible_adam.hpp>
#include <kadam/optim/efficient_adam.hpp>
#include <kadam/optim/frozen_variance_adam.hpp>
#include <kadam/optim/lamb.hpp>
#include <kadam/optim/locally_accumulated_adam.hpp>
#include <kadam/optim/loco.hpp>
#include <kadam/optim/onebit_lamb.hpp>
#include <kadam/optim/register_optimizer.hpp>
#include <kadam/optim/zero_one_adam.hpp>

#include <algorithm>
#include <deque>
#include <exception>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

/// THE table: whatever lists optimizers, or wants to know of what kind they are, asks it.
std::deque<Algorithm>& algorithms() {
  static std::deque<Algorithm> all = {
      algorithm<Adam>("adam", {.dense = true}),
      algorithm<Lamb>("lamb", {.dense = true, .per_tensor = true}),
      algorithm<FrozenVarianceAdam, FrozenVarianceAdam::OnebitAdam>(
          "onebit_adam", {.warmup = "warmup_steps", .needs_warmup = true, .freezes = true}),
      algorithm<FrozenVarianceAdam, FrozenVarianceAdam::Apmsqueeze>(
          "apmsqueeze", {.warmup = "warmup_steps", .needs_warmup = true, .freezes = true}),
      algorithm<ZeroOneAdam>(
          "zero_one_adam",
          {.warmup = "variance_freeze_step", .needs_warmup = true, .freezes = true, .ranks_differ = true}),
      algorithm<OnebitLamb>(
          "onebit_lamb",
          {.warmup = "warmup_steps", .needs_warmup = true, .freezes = true, .per_tensor = true}),
      algorithm<EfficientAdam>("efficient_adam", {.local_moments = true}),
      algorithm<Loco>("loco", {.shards = true}),
      algorithm<LocallyAccumulatedAdam>(
          "locally_accumulated_adam",
          {.warmup = "warmup_steps", .sparse = true, .local_moments = true, .ranks_differ = true}),
      algorithm<DivisibleAdam>(
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

void register_optimizer(Algorithm algorithm) {
  const std::vector<std::string> known = optimizer_names();
  if (std::find(known.begin(), known.end(), algorithm.name) != known.end()) {
    throw std::invalid_argument("kadam::register_optimizer: there is an optimizer '" + algorithm.name +
                                "' already: choose another name");
  }
  algorithms().push_back(std::move(algorithm));
}

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
                                          const std::vector<ParameterGroup>& groups) {
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
