// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/adam.hpp>
#include <kadam/algorithms/divisible_adam.hpp>
#include <kadam/algorithms/efficient_adam.hpp>
#include <kadam/algorithms/frozen_variance_adam.hpp>
#include <kadam/algorithms/lamb.hpp>
#include <kadam/algorithms/local_rounds.hpp>
#include <kadam/algorithms/locally_accumulated_adam.hpp>
#include <kadam/algorithms/loco.hpp>
#include <kadam/algorithms/low_rank_muon.hpp>
#include <kadam/algorithms/muon.hpp>
#include <kadam/algorithms/onebit_lamb.hpp>
#include <kadam/algorithms/zero_one_adam.hpp>
#include <kadam/optim/register_optimizer.hpp>

#include <algorithm>
#include <deque>
#include <exception>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

/// THE table: all code that lists optimizers, or asks of what kind they are, asks it.
std::deque<AlgorithmRow>& algorithms() {
  static std::deque<AlgorithmRow> all = {
      algorithm_row<Adam>("adam", {.dense = true}),
      algorithm_row<Lamb>("lamb", {.dense = true, .per_tensor = true}),
      algorithm_row<Muon>("muon", {.dense = true, .matrices = true}),
      algorithm_row<FrozenVarianceAdam, FrozenVarianceAdam::OnebitAdam>(
          "onebit_adam",
          {.warmup = "warmup_steps", .needs_warmup = true, .freezes = true, .suits = "it must be Adam"}),
      algorithm_row<FrozenVarianceAdam, FrozenVarianceAdam::Apmsqueeze>(
          "apmsqueeze", {.warmup = "warmup_steps", .needs_warmup = true, .freezes = true}),
      algorithm_row<ZeroOneAdam>(
          "zero_one_adam",
          {.warmup = "variance_freeze_step", .needs_warmup = true, .freezes = true, .ranks_differ = true}),
      algorithm_row<OnebitLamb>(
          "onebit_lamb",
          {.warmup = "warmup_steps", .needs_warmup = true, .freezes = true, .per_tensor = true}),
      algorithm_row<EfficientAdam>("efficient_adam", {.local_moments = true}),
      algorithm_row<Loco>("loco", {.shards = true}),
      algorithm_row<LocallyAccumulatedAdam>(
          "locally_accumulated_adam",
          {.warmup = "warmup_steps", .sparse = true, .local_moments = true, .ranks_differ = true}),
      algorithm_row<DivisibleAdam>(
          "divisible_adam",
          {.warmup = "warmup_steps", .sparse = true, .local_moments = true, .ranks_differ = true}),
      algorithm_row<LocalRounds, LocalRounds::LocalAdam>(
          "local_adam", {.local_moments = true, .per_tensor = true, .matrices = true, .ranks_differ = true}),
      algorithm_row<LocalRounds, LocalRounds::LocalMuon>(
          "local_muon",
          {.local_moments = true, .matrices = true, .ranks_differ = true, .suits = "ranks see similar data"}),
      algorithm_row<LowRankMuon>("low_rank_muon",
                                 {.matrices = true, .suits = "data differ from rank to rank"}),
  };
  return all;
}

const AlgorithmRow& find_algorithm(std::string_view name) {
  std::string known;
  for (const AlgorithmRow& row : algorithms()) {
    if (row.name == name) return row;
    known += (known.empty() ? "" : ", ") + row.name;
  }
  throw std::invalid_argument("there is no optimizer '" + std::string(name) + "': choose one of " + known);
}

}  // namespace

void register_optimizer(AlgorithmRow row) {
  const std::vector<std::string> known = optimizer_names();
  if (std::find(known.begin(), known.end(), row.name) != known.end()) {
    throw std::invalid_argument("kadam::register_optimizer: there is already an optimizer '" + row.name +
                                "': choose another name");
  }
  algorithms().push_back(std::move(row));
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  names.reserve(algorithms().size());
  for (const AlgorithmRow& row : algorithms()) names.emplace_back(row.name);
  return names;
}

std::vector<OptionHelp> optimizer_options(std::string_view name) {
  return find_algorithm(name).options();
}

const OptimizerTraits& optimizer_traits(std::string_view name) {
  return find_algorithm(name).traits;
}

AlgorithmCost optimizer_cost(std::string_view name, const OptionMap& options, std::int64_t elements,
                             const Arrangement& ranks) {
  return find_algorithm(name).cost(name, options, elements, ranks);
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
        "kadam::make_optimizer: expected a communicator, got none: for a single rank, pass "
        "Communicator::self()");
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
