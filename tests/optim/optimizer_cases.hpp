// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/optimizer_names.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/options/parameter_groups.hpp>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kadam::test {

/// Tests that take some cases of each optimizer alone: those that are marked for them, or its first one.
enum class Part {
  every_event,  ///< resumed after every event
  groups,       ///< resumed with groups, and under other options
  other_ranks,  ///< resumed on other ranks
  rules,        ///< under rules, staged and in two levels
  two_levels,   ///< of ranks
};

/// An optimizer with options that a distributed run is compared with a simulated one for.
struct OptimizerCase {
  std::string title;
  std::string name;
  OptionMap options;
  std::set<Part> marked_for = {};
  std::int64_t flush_after = 0;             ///< the step after which a run is flushed, and goes on (0: none)
  std::vector<ParameterGroup> groups = {};  ///< of the tensors that optimizers_test has
  float tolerance = 1e-4F;                  ///< of parameters, as a part of the largest they have been
};

/// Its options, but that ranks hear of a NaN before every step: how many steps they have refused each for
/// itself, and not told yet, is not in a checkpoint.
inline OptionMap options_that_agree(const OptimizerCase& optimizer_case) {
  OptionMap options = optimizer_case.options;
  if (has_option(optimizer_case.name, "nonfinite")) options["nonfinite"] = "each_step";
  return options;
}

inline std::ostream& operator<<(std::ostream& out, const OptimizerCase& optimizer_case) {
  return out << optimizer_case.title;
}

/// The steps of a run: some are after every warm-up, freeze and doubling below.
inline constexpr std::int64_t steps_per_case = 20;

/// Falls by a tenth each step, so that a rate of another step is seen.
inline std::vector<double> falling_rates() {
  std::vector<double> rates;
  rates.reserve(static_cast<std::size_t>(steps_per_case));
  double rate = 0.02;
  for (std::int64_t t = 1; t <= steps_per_case; ++t) {
    rates.push_back(rate);
    rate *= 0.9;
  }
  return rates;
}

inline std::vector<double> rates_with_pauses(const std::vector<std::size_t>& steps) {
  std::vector<double> rates = falling_rates();
  for (const std::size_t t : steps) rates.at(t - 1) = 0.0;
  return rates;
}

inline std::vector<OptimizerCase> dense_cases() {
  using enum Part;
  const std::set<Part> everywhere = {every_event, groups, other_ranks, rules, two_levels};
  return {
      {"adam", "adam", {{"weight_decay", 0.05}}, everywhere},
      {"adam_shards", "adam", {{"shard_state", true}, {"weight_decay", 0.05}}, everywhere},
      {"adam_uncorrected", "adam", {{"bias_correction", false}}},
      {"adam_rates", "adam", {{"lr", falling_rates()}, {"weight_decay", 0.05}}},
      {"adam_8bit", "adam", {{"moments", "8bit"}, {"weight_decay", 0.05}}, everywhere},
      {"adam_8bit_rates", "adam", {{"moments", "8bit"}, {"lr", falling_rates()}, {"bias_correction", false}}},
      {"lamb", "lamb", {{"weight_decay", 0.01}}},
      {"lamb_rates", "lamb", {{"lr", falling_rates()}, {"trust_max", 0.5}}},
      {"muon", "muon", {{"weight_decay", 0.05}}},
      {"muon_of_some",
       "muon",
       {{"matrices", "b,b*"}, {"lr", falling_rates()}, {"beta1", 0.8}, {"bias_correction", false}}}};
}

/// With other warm-ups a sign can be decided by rounding at a step, and its whole block is nudged.
inline std::vector<OptimizerCase> frozen_variance_cases() {
  using enum Part;
  const std::int64_t warmup = 4;
  const std::int64_t one_per_chunk = 0;
  return {
      {"onebit_adam",
       "onebit_adam",
       {{"warmup_steps", warmup}, {"weight_decay", 0.05}},
       {every_event, groups, other_ranks, rules, two_levels}},
      {"onebit_adam_one_scale",
       "onebit_adam",
       {{"warmup_steps", warmup}, {"block", one_per_chunk}, {"scale", "mean_abs"}},
       {two_levels}},
      {"apmsqueeze_2", "apmsqueeze", {{"warmup_steps", warmup}, {"bits", 2}, {"block", 64}}},
      {"apmsqueeze_8", "apmsqueeze", {{"warmup_steps", warmup}, {"bits", 8}}},
      {"onebit_adam_preconditioned",
       "onebit_adam",
       {{"warmup_steps", warmup}, {"precondition", true}, {"eps", 0.01}, {"weight_decay", 0.05}},
       {groups, other_ranks, rules, two_levels}},
      {"onebit_adam_floor", "onebit_adam", {{"warmup_steps", warmup}, {"variance_floor", 0.5}}},
      {"onebit_adam_short_errors",
       "onebit_adam",
       {{"warmup_steps", warmup}, {"errors", "bf16"}, {"block", 128}, {"weight_decay", 0.05}},
       {every_event, groups, other_ranks},
       0,
       {},
       1e-3F},  // chance may round 1/256 of an error the other way where the last bit differs
      {"apmsqueeze_preconditioned_floor",
       "apmsqueeze",
       {{"warmup_steps", warmup}, {"precondition", true}, {"variance_floor", 0.3}},
       {every_event}},
      // Whose warm-up is not over where tests of checkpoints look.
      {"onebit_adam_coded_warmup",
       "onebit_adam",
       {{"warmup_steps", 15}, {"warmup_code", "uniform8"}, {"weight_decay", 0.05}},
       {every_event, groups, other_ranks, rules, two_levels}},
      {"onebit_adam_coded_warmup_preconditioned",
       "onebit_adam",
       {{"warmup_steps", 7},
        {"warmup_code", "uniform4"},
        {"block", 64},
        {"precondition", true},
        {"eps", 0.01},
        {"lr", falling_rates()}},
       {two_levels}},
      {"apmsqueeze_float8_warmup",
       "apmsqueeze",
       {{"warmup_steps", 9}, {"warmup_code", "float8"}, {"block", one_per_chunk}}},
      {"apmsqueeze_2_in_both", "apmsqueeze", {{"warmup_steps", 9}, {"warmup_code", "uniform2"}, {"bits", 2}}},
      {"onebit_lamb",
       "onebit_lamb",
       {{"warmup_steps", warmup}, {"weight_decay", 0.01}},
       {groups, other_ranks, rules, two_levels}},
      {"onebit_lamb_coded_warmup",
       "onebit_lamb",
       {{"warmup_steps", 15}, {"warmup_code", "uniform8"}, {"weight_decay", 0.01}, {"lr", falling_rates()}},
       {every_event, groups, other_ranks, rules, two_levels}},
      {"onebit_lamb_floor", "onebit_lamb", {{"warmup_steps", warmup}, {"variance_floor", 0.7}}},
      {"onebit_lamb_one_scale",
       "onebit_lamb",
       {{"warmup_steps", 6},
        {"eps", 0.01},
        {"block", one_per_chunk},
        {"scale", "mean_abs"},
        {"lr", falling_rates()}}},
      {"onebit_lamb_limits",
       "onebit_lamb",
       {{"warmup_steps", warmup},
        {"block", 64},
        {"weight_decay", 0.05},
        {"trust_max", 0.3},
        {"ratio_min", 0.8},
        {"ratio_max", 1.3},
        {"ratio_change", 0.2},
        {"beta3", 0.5}},
       {every_event}},
      {"onebit_lamb_uncorrected", "onebit_lamb", {{"warmup_steps", 5}, {"bias_correction", false}}},
  };
}

inline std::vector<OptimizerCase> zero_one_adam_cases() {
  using enum Part;
  return {
      {"zero_one_adam",
       "zero_one_adam",
       {{"variance_freeze_step", 8},
        {"variance_kappa", 2},
        {"sync_doubling_steps", 3},
        {"weight_decay", 0.02}},
       {every_event, other_ranks, two_levels}},
      {"zero_one_adam_one_scale",
       "zero_one_adam",
       {{"variance_freeze_step", 5},
        {"variance_kappa", 1},
        {"sync_doubling_steps", 2},
        {"sync_interval_max", 3},
        {"block", 0},
        {"scale", "mean_abs"},
        {"bias_correction", false}},
       {two_levels}},
      {"zero_one_adam_rates",
       "zero_one_adam",
       {{"variance_freeze_step", 10},
        {"variance_kappa", 2},
        {"sync_doubling_steps", 1},
        {"block", 64},
        {"lr", falling_rates()},
        {"weight_decay", 0.05}},
       {other_ranks}},
      {"zero_one_adam_always", "zero_one_adam", {{"variance_freeze_step", 5}}},
      {"zero_one_adam_floor",
       "zero_one_adam",
       {{"variance_freeze_step", 8}, {"variance_kappa", 2}, {"variance_floor", 0.5}}},
      // Without learning rate before the freeze (steps 4 and 6 are local ones) and after it.
      {"zero_one_adam_pauses",
       "zero_one_adam",
       {{"variance_freeze_step", 8}, {"variance_kappa", 2}, {"lr", rates_with_pauses({4, 6, 12})}},
       {every_event}},
      // Two steps after the synchronisation of step 13, two before the next.
      {"zero_one_adam_flushed",
       "zero_one_adam",
       {{"variance_freeze_step", 8},
        {"variance_kappa", 2},
        {"sync_doubling_steps", 3},
        {"weight_decay", 0.02}},
       {rules},
       15},
  };
}

/// eps is as large as gradients: without it all coordinates make a first step of one size, and which code is
/// nearest to a half of it only rounding says.
inline std::vector<OptimizerCase> efficient_adam_cases() {
  using enum Part;
  const std::string name = "efficient_adam";
  const double eps = 1.0;
  std::vector<OptimizerCase> cases = {
      {"efficient_adam", name, {{"eps", eps}, {"weight_decay", 0.02}}, {two_levels}},
      {"efficient_adam_1",
       name,
       {{"eps", eps}, {"bits", 1}, {"block", 64}, {"weight_decay", 0.02}},
       {rules, two_levels}},
      {"efficient_adam_1_one_scale", name, {{"eps", eps}, {"bits", 1}, {"block", 0}, {"scale", "mean_abs"}}},
      {"efficient_adam_8", name, {{"eps", eps}, {"bits", 8}, {"block", 0}, {"lr", falling_rates()}}},
      {"efficient_adam_uncorrected", name, {{"eps", eps}, {"bias_correction", false}}},
  };
  cases.push_back({name + "_factored",
                   name,
                   {{"eps", eps}, {"variance", "factored"}, {"variance_sync_interval", 3}},
                   {every_event, groups, other_ranks, rules, two_levels}});
  for (const std::string& code : optimizer_traits(name).codes) {
    cases.push_back({name + "_" + code, name, {{"eps", eps}, {"code", code}, {"block", 64}}});
  }
  return cases;
}

inline std::vector<OptimizerCase> loco_cases() {
  using enum Part;
  return {
      {"loco", "loco", {{"weight_decay", 0.02}}, {other_ranks, rules, two_levels}},
      {"loco_2",
       "loco",
       {{"bits", 2}, {"block", 64}, {"error_beta", 0.5}, {"error_reset", 3}},
       {every_event, groups}},
      {"loco_8", "loco", {{"bits", 8}, {"block", 0}, {"error_reset", 7}}, {two_levels}},
      {"loco_rates", "loco", {{"error_beta", 0.0}, {"error_reset", 1000}, {"lr", falling_rates()}}},
      {"loco_bf16",
       "loco",
       {{"parameters", "bf16"}, {"weight_decay", 0.02}},
       {every_event, groups, other_ranks, rules, two_levels}},
      {"loco_uncorrected", "loco", {{"block", 100}, {"bias_correction", false}}},
  };
}

/// Long enough that every coordinate has had a gradient: the first one of a coordinate makes a step of a size
/// that many share, and which of these is among the largest only rounding says.
inline constexpr std::int64_t sparse_warmup = 7;

inline std::vector<OptimizerCase> locally_accumulated_adam_cases() {
  using enum Part;
  const std::string name = "locally_accumulated_adam";
  const std::string owner = "owner";
  return {
      {"locally_accumulated_adam", name, {{"warmup_steps", sparse_warmup}, {"weight_decay", 0.02}}},
      {"locally_accumulated_adam_64",
       name,
       {{"warmup_steps", sparse_warmup},
        {"density", 0.05},
        {"select_block", 64},
        {"variance_sync_interval", 3},
        {"lr", falling_rates()}},
       {every_event, groups, other_ranks, two_levels}},
      {"locally_accumulated_adam_one_block",
       name,
       {{"warmup_steps", sparse_warmup},
        {"density", 0.02},
        {"select_block", 0},
        {"variance_sync_interval", 0},
        {"residual_decay", 0.9}}},
      {"locally_accumulated_adam_odd_block",
       name,
       {{"warmup_steps", sparse_warmup}, {"select_block", 1000}, {"bias_correction", false}}},
      {"locally_accumulated_adam_ahead",
       name,
       {{"warmup_steps", sparse_warmup}, {"step_ahead", 0.7}, {"weight_decay", 0.02}},
       {every_event, other_ranks}},
      {"locally_accumulated_adam_all", name, {{"density", 1.0}, {"variance_sync_interval", 4}}},
      {"locally_accumulated_adam_delayed",
       name,
       {{"warmup_steps", sparse_warmup},
        {"density", 0.05},
        {"variance_sync_interval", 4},
        {"variance_delay", 3},
        {"beta2", 0.9},
        {"weight_decay", 0.02}},
       {every_event, other_ranks, rules}},
      {"locally_accumulated_adam_delayed_ahead",
       name,
       {{"warmup_steps", sparse_warmup},
        {"variance_sync_interval", 5},
        {"variance_delay", 1},
        {"progress", "poll"},
        {"step_ahead", 0.7}}},
      {"locally_accumulated_adam_fading",
       name,
       {{"warmup_steps", sparse_warmup}, {"variance_sync_interval", 3}, {"residual_decay", 0.8}}},
      {"locally_accumulated_adam_fading_delayed_ahead",
       name,
       {{"warmup_steps", sparse_warmup},
        {"variance_sync_interval", 5},
        {"variance_delay", 2},
        {"residual_decay", 0.8},
        {"step_ahead", 0.5}}},
      {"locally_accumulated_adam_flushed",
       name,
       {{"warmup_steps", sparse_warmup}, {"variance_sync_interval", 4}},
       {},
       12},
      {"locally_accumulated_adam_ahead_flushed",
       name,
       {{"warmup_steps", sparse_warmup}, {"step_ahead", 0.7}, {"weight_decay", 0.02}},
       {},
       12},
      {"locally_accumulated_adam_2",
       name,
       {{"warmup_steps", sparse_warmup},
        {"density", 0.05},
        {"select_block", 64},
        {"value_bits", 2},
        {"variance_sync_interval", 3},
        {"weight_decay", 0.02}},
       {every_event, other_ranks, rules}},
      {"locally_accumulated_adam_factored",
       name,
       {{"warmup_steps", sparse_warmup},
        {"density", 0.05},
        {"select_block", 64},
        {"variance", "factored"},
        {"variance_sync_interval", 3},
        {"lr", falling_rates()},
        {"weight_decay", 0.02}},
       {every_event, groups, other_ranks, rules, two_levels}},
      {"locally_accumulated_adam_2_factored",
       name,
       {{"density", 0.05}, {"value_bits", 2}, {"variance", "factored"}, {"eps", 0.02}, {"step_ahead", 0.5}},
       {other_ranks}},
      {"locally_accumulated_adam_factored_alone",
       name,
       {{"warmup_steps", sparse_warmup}, {"variance", "factored"}, {"variance_sync_interval", 0}}},
      {"locally_accumulated_adam_2_ahead",
       name,
       {{"warmup_steps", sparse_warmup},
        {"density", 0.03},
        {"value_bits", 2},
        {"step_ahead", 0.7},
        {"residual_decay", 0.9}},
       {},
       12},
      {"locally_accumulated_adam_owner",
       name,
       {{"warmup_steps", sparse_warmup}, {"exchange", owner}, {"weight_decay", 0.02}}},
      {"locally_accumulated_adam_owner_64",
       name,
       {{"warmup_steps", sparse_warmup},
        {"exchange", owner},
        {"density", 0.05},
        {"select_block", 64},
        {"variance_sync_interval", 3}},
       {rules}},
      {"locally_accumulated_adam_owner_one_block",
       name,
       {{"warmup_steps", sparse_warmup},
        {"exchange", owner},
        {"density", 0.02},
        {"select_block", 0},
        {"residual_decay", 0.9}}},
  };
}

inline std::vector<OptimizerCase> divisible_adam_cases() {
  using enum Part;
  const std::string name = "divisible_adam";
  return {
      {"divisible_adam", name, {{"warmup_steps", sparse_warmup}, {"weight_decay", 0.02}}},
      {"divisible_adam_3_half_ahead",
       name,
       {{"warmup_steps", sparse_warmup},
        {"density", 0.03},
        {"select_block", 64},
        {"background_steps", 3},
        {"progress", "poll"},
        {"variance_sync_interval", 5},
        {"step_ahead", 0.5},
        {"lr", falling_rates()}},
       {every_event, groups, other_ranks}},
      {"divisible_adam_1_not_ahead",
       name,
       {{"warmup_steps", sparse_warmup},
        {"select_block", 0},
        {"background_steps", 1},
        {"variance_sync_interval", 0},
        {"step_ahead", 0.0}}},
      {"divisible_adam_4_not_ahead",
       name,
       {{"warmup_steps", sparse_warmup}, {"step_ahead", 0.0}},
       {every_event, other_ranks}},
      {"divisible_adam_delayed",
       name,
       {{"warmup_steps", sparse_warmup},
        {"background_steps", 2},
        {"variance_sync_interval", 6},
        {"variance_delay", 4},
        {"beta2", 0.9}},
       {every_event}},
      {"divisible_adam_all",
       name,
       {{"density", 1.0}, {"variance_sync_interval", 4}, {"weight_decay", 0.05}},
       {two_levels}},
      // A mean has been on its way since step 13.
      {"divisible_adam_flushed",
       name,
       {{"warmup_steps", sparse_warmup}, {"background_steps", 3}, {"density", 0.03}, {"step_ahead", 0.5}},
       {rules},
       14},
      {"divisible_adam_factored",
       name,
       {{"warmup_steps", sparse_warmup},
        {"density", 0.05},
        {"select_block", 64},
        {"variance", "factored"},
        {"variance_sync_interval", 4},
        {"background_steps", 3}},
       {every_event, groups, other_ranks}},
      {"divisible_adam_2",
       name,
       {{"warmup_steps", sparse_warmup},
        {"density", 0.05},
        {"select_block", 64},
        {"value_bits", 2},
        {"background_steps", 3}},
       {every_event}},
      {"divisible_adam_owner",
       name,
       {{"warmup_steps", sparse_warmup},
        {"exchange", "owner"},
        {"density", 0.05},
        {"select_block", 64},
        {"background_steps", 3},
        {"progress", "none"}}},
      {"divisible_adam_owner_one_block",
       name,
       {{"warmup_steps", sparse_warmup},
        {"exchange", "owner"},
        {"select_block", 0},
        {"bias_correction", false}}},
  };
}

inline std::vector<OptimizerCase> local_rounds_cases() {
  using enum Part;
  const std::int64_t short_round = 4;
  return {
      {"local_adam",
       "local_adam",
       {{"sync_interval", short_round}, {"weight_decay", 0.02}},
       {groups, rules, two_levels}},
      {"local_adam_topk",
       "local_adam",
       {{"variance", "own"},
        {"sync_interval", 3},
        {"code", "topk"},
        {"density", 0.1},
        {"block", 128},
        {"residual_decay", 0.95},
        {"outer_lr", 0.7},
        {"outer_momentum", 0.5},
        {"step_ahead", 0.5},
        {"weight_decay", 0.02}},
       {every_event, groups, other_ranks, rules, two_levels}},
      {"local_adam_exact",
       "local_adam",
       {{"variance", "own"},
        {"sync_interval", 6},
        {"code", "none"},
        {"outer_lr", 0.7},
        {"outer_momentum", 0.9}},
       {every_event, other_ranks, two_levels}},
      {"local_adam_ahead",
       "local_adam",
       {{"sync_interval", short_round}, {"block", 64}, {"step_ahead", 0.7}, {"residual_decay", 0.9}},
       {every_event}},
      {"local_adam_every_step",
       "local_adam",
       {{"variance", "own"}, {"sync_interval", 1}, {"code", "uniform4"}, {"eps", 1.0}}},
      {"local_adam_gauss2",
       "local_adam",
       {{"sync_interval", short_round}, {"code", "gauss2"}, {"block", 64}}},
      // The third round has no learning rate.
      {"local_adam_pause",
       "local_adam",
       {{"sync_interval", short_round},
        {"nonfinite", "each_step"},
        {"lr", rates_with_pauses({6, 9, 10, 11, 12})}},
       {every_event}},
      {"local_adam_agreed",
       "local_adam",
       {{"sync_interval", 5}, {"nonfinite", "each_step"}, {"bias_correction", false}},
       {rules}},
      {"local_muon",
       "local_muon",
       {{"sync_interval", short_round}, {"weight_decay", 0.02}},
       {every_event, other_ranks, rules, two_levels}},
      {"local_muon_of_some",
       "local_muon",
       {{"sync_interval", 3},
        {"nonfinite", "each_step"},
        {"code", "sign"},
        {"block", 128},
        {"matrices", "b,b*"},
        {"variance", "factored"},
        {"lr", falling_rates()}},
       {two_levels}},
      {"local_muon_gauss2",
       "local_muon",
       {{"sync_interval", short_round}, {"code", "gauss2"}, {"weight_decay", 0.02}}},
      {"local_adam_delayed",
       "local_adam",
       {{"variance", "own"},
        {"sync_interval", short_round},
        {"round_delay", 2},
        {"outer_lr", 0.7},
        {"outer_momentum", 0.5},
        {"residual_decay", 0.9},
        {"block", 64},
        {"weight_decay", 0.02}},
       {every_event, groups, other_ranks, rules, two_levels}},
      {"local_adam_delayed_exact",
       "local_adam",
       {{"sync_interval", 5},
        {"round_delay", 4},
        {"code", "none"},
        {"outer_lr", 0.7},
        {"outer_momentum", 0.9},
        {"lr", rates_with_pauses({6, 7, 8, 9, 10})}},
       {every_event, groups, other_ranks, rules, two_levels}},
      {"local_muon_delayed",
       "local_muon",
       {{"sync_interval", 3},
        {"round_delay", 1},
        {"code", "gauss2"},
        {"nonfinite", "each_step"},
        {"weight_decay", 0.05},
        {"lr", falling_rates()}},
       {every_event, two_levels}},
      // A round has been on its way for two steps, and is to arrive two steps later.
      {"local_muon_delayed_flushed",
       "local_muon",
       {{"sync_interval", 5}, {"round_delay", 4}, {"outer_momentum", 0.6}, {"weight_decay", 0.02}},
       {rules},
       12},
      {"local_muon_flushed",
       "local_muon",
       {{"sync_interval", 5}, {"code", "topk"}, {"density", 0.1}, {"outer_momentum", 0.6}},
       {},
       12},
  };
}

inline std::vector<OptimizerCase> low_rank_muon_cases() {
  using enum Part;
  const std::string name = "low_rank_muon";
  return {
      {"low_rank_muon", name, {{"weight_decay", 0.05}}, {every_event, other_ranks}},
      {"low_rank_muon_4_bits",
       name,
       {{"rank", 1}, {"factor_bits", 4}, {"lr", falling_rates()}, {"bias_correction", false}}},
      {"low_rank_muon_32_bits",
       name,
       {{"rank", 3}, {"factor_bits", 32}, {"seed", 5}, {"lr", rates_with_pauses({4, 12})}},
       {every_event, other_ranks}},
  };
}

/// All of them; the learning rate is 0.01 where none is given.
inline std::vector<OptimizerCase> optimizer_cases() {
  std::vector<OptimizerCase> all;
  for (const auto& family : {dense_cases(), frozen_variance_cases(), zero_one_adam_cases(),
                             efficient_adam_cases(), loco_cases(), locally_accumulated_adam_cases(),
                             divisible_adam_cases(), local_rounds_cases(), low_rank_muon_cases()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  for (auto& each : all) each.options.try_emplace("lr", 0.01);
  return all;
}

/// Of each optimizer the cases that are marked for a part of the tests; its first one where none is.
inline std::vector<OptimizerCase> cases_for(Part part, const std::vector<OptimizerCase>& cases) {
  std::set<std::string> marked;
  for (const OptimizerCase& each : cases) {
    if (each.marked_for.contains(part)) marked.insert(each.name);
  }
  std::vector<OptimizerCase> chosen;
  for (const OptimizerCase& each : cases) {
    const bool is_first = !marked.contains(each.name) && marked.insert(each.name).second;
    if (is_first || each.marked_for.contains(part)) chosen.push_back(each);
  }
  return chosen;
}

inline std::vector<OptimizerCase> cases_for(Part part) {
  return cases_for(part, optimizer_cases());
}

/// Every algorithm with gradients of 16 bits: its first case, where none is here.
inline std::vector<OptimizerCase> format_cases() {
  const std::int64_t warmup = 4;
  std::vector<OptimizerCase> all = {
      {"adam", "adam", {{"weight_decay", 0.05}}},
      {"adam_shards", "adam", {{"shard_state", true}, {"weight_decay", 0.05}}},
      {"adam_8bit", "adam", {{"moments", "8bit"}, {"weight_decay", 0.05}}},
      {"lamb", "lamb", {{"weight_decay", 0.01}}},
      {"onebit_adam", "onebit_adam", {{"warmup_steps", warmup}, {"weight_decay", 0.05}}},
      {"onebit_adam_preconditioned",
       "onebit_adam",
       {{"warmup_steps", warmup}, {"precondition", true}, {"eps", 0.01}}},
      {"apmsqueeze", "apmsqueeze", {{"warmup_steps", warmup}, {"block", 64}}},
      zero_one_adam_cases().front(),
      {"onebit_lamb", "onebit_lamb", {{"warmup_steps", warmup}, {"weight_decay", 0.01}}},
      // With few numbers to choose from, ranks have the same largest one, and uniform codes ties.
      {"efficient_adam", "efficient_adam", {{"eps", 1.0}, {"bits", 1}}},
      {"loco", "loco", {{"weight_decay", 0.02}}},
      {"loco_8_parameters", "loco", {{"bits", 8}, {"block", 0}, {"parameters", "bf16"}}},
      {"locally_accumulated_adam",
       "locally_accumulated_adam",
       {{"warmup_steps", sparse_warmup}, {"density", 0.05}, {"variance_sync_interval", 3}}},
      {"divisible_adam", "divisible_adam", {{"warmup_steps", sparse_warmup}}},
  };
  for (const OptimizerCase& first : optimizer_cases()) {
    const bool is_there =
        std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == first.name; });
    if (!is_there) all.push_back(first);
  }
  std::vector<OptimizerCase> cases;
  for (const std::string format : {"bf16", "fp16"}) {
    for (OptimizerCase one : all) {
      one.title.append("_").append(format);
      one.options["gradients"] = format;
      one.options["lr"] = 0.01;
      cases.push_back(std::move(one));
    }
  }
  return cases;
}

/// The rules that tensors can have: each with tensors of its own, and those kept dense where vector, segment
/// and chunk begin. Tensors of other names have none.
inline std::vector<ParameterGroup> all_rules() {
  return {{.tensors = "first", .dense = true},
          {.tensors = "half", .lr_scale = 0.5},
          {.tensors = "norm", .lr_scale = 2.0, .weight_decay = 0.0, .dense = true},
          {.tensors = "still", .lr_scale = 0.0, .weight_decay = 0.3},
          {.tensors = "edge.*", .weight_decay = 0.2, .dense = true},
          {.tensors = "long", .lr_scale = 2.0},
          {.tensors = "undecayed", .weight_decay = 0.0}};
}

/// All cases again, under these rules and with gradients that are clipped in each phase. Adam takes no notice
/// of a factor that all gradients have but by eps, which is therefore as large as many of them.
inline std::vector<OptimizerCase> rule_cases() {
  std::vector<OptimizerCase> all = optimizer_cases();
  for (OptimizerCase& each : all) {
    each.title += "_rules";
    each.groups = all_rules();
    each.options["clip_norm"] = 15.0;
    each.options["weight_decay"] = 0.05;
    each.options.try_emplace("eps", 0.02);
  }
  return all;
}

}  // namespace kadam::test
