// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/any_quantiser.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <plan/prediction.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace kadam::plan {
namespace {

const OptionMap none;
const OptionMap warm_up = {{"warmup_steps", 20}};

/// 16 B to each of 3 others at 1 GB/s: whether the gradient is finite.
constexpr double agreement = 48e-9;
/// The same on 2 nodes of 4: 4 ranks send 64 B to the other node.
constexpr double agreement_of_eight = 256e-9;

/// 1 GB/s links without latency, kernels at 10 GB/s.
Scenario simple() {
  Scenario scenario;
  scenario.elements = 1 << 20;
  scenario.steps = 100;
  scenario.network.latency_seconds = 0.0;
  scenario.network.message_seconds = 0.0;
  scenario.network.link_bytes_per_second = 1e9;
  scenario.kernels = KernelCosts::at_memory_speed(1e10);
  return scenario;
}

OptionMap options_of(const std::string& name) {
  const OptimizerTraits& traits = optimizer_traits(name);
  return traits.needs_warmup ? OptionMap{{traits.warmup, 20}} : none;
}

TEST(Predict, DenseAdamByHand) {
  const Prediction prediction = predict("adam", none, simple(), 4);
  // 4 B x 2^20 x 3/4, there and back.
  EXPECT_DOUBLE_EQ(prediction.bytes, 6291456.0);
  EXPECT_NEAR(prediction.step.exchange, 6.291456e-3 + agreement, 1e-12);
  EXPECT_NEAR(prediction.step.exposed, 6.291456e-3 + agreement, 1e-12);
  // |g|^2 4 B, the mean of 4 parts of 2^18 at 5 B, the update 28 B: 37 B per element at 10 GB/s.
  EXPECT_NEAR(prediction.step.kernels, 1048576 * 37.0 / 1e10, 1e-12);
  EXPECT_NEAR(prediction.step.total(), 6.291456e-3 + agreement + 3.8797312e-3, 1e-12);
}

TEST(Predict, OneBitAdamByHand) {
  const Prediction prediction = predict("onebit_adam", warm_up, simple(), 4);
  // 199 680 B, CompressedMean's worked number.
  EXPECT_DOUBLE_EQ(prediction.settled_bytes, 199680.0);
  EXPECT_NEAR(prediction.bytes, 0.2 * 6291456.0 + 0.8 * 199680.0, 1e-6);
  // 4 + 12.25 + 0.125 + 8.13 / 4 + 12.125 B per element.
  EXPECT_NEAR(prediction.settled.kernels, 1048576 * 30.5325 / 1e10, 1e-12);
  EXPECT_NEAR(prediction.settled.exchange, 199680 / 1e9 + agreement, 1e-12);
}

TEST(Predict, AGradientHidesBehindTheBackwardPass) {
  Scenario scenario = simple();
  scenario.compute_seconds = 6e-3;
  scenario.overlap.backward = 0.5;
  EXPECT_NEAR(predict("adam", none, scenario, 4).step.exposed, 6.291456e-3 - 3e-3 + agreement, 1e-12);
  scenario.compute_seconds = 60e-3;
  EXPECT_NEAR(predict("adam", none, scenario, 4).step.exposed, agreement, 1e-12);
  // A momentum cannot: it is there when the backward pass is done.
  EXPECT_GT(predict("onebit_adam", warm_up, scenario, 4).settled.exposed, 0.0);
}

TEST(Predict, PiecesByHand) {
  StepPhase phase;
  phase.work = {{cost::scale, 2.5e6}};  // 2 ms at 8 B and 10 GB/s
  phase.exchanges = {{Hiding::pieces, {{Pattern::all_to_all, Traffic::compressed, 4000000}}}};
  Scenario scenario = simple();
  scenario.overlap.piece_bytes = 400000;  // messages of 4 MB / 3: 3.3 of them
  const StepSeconds seconds = step_seconds(phase, scenario, 4, false);
  EXPECT_NEAR(seconds.total(), 4.5e-3 + agreement, 1e-12);
  EXPECT_NEAR(seconds.exposed, 2.5e-3 + agreement, 1e-12);
  // The exchange pays for latency once; the agreement takes two rounds.
  scenario.network.latency_seconds = 1e-3;
  EXPECT_NEAR(step_seconds(phase, scenario, 4, false).exposed, 2.5e-3 + 1e-3 + 2e-3 + agreement, 1e-12);
  scenario.overlap.piece_bytes = 0;
  EXPECT_NEAR(step_seconds(phase, scenario, 4, false).exposed, 5e-3 + 2e-3 + agreement, 1e-12);
  // A gradient in pieces hides behind both: half of 3 ms of compute, and kernels as above.
  phase.exchanges[0].hiding = Hiding::backward;
  scenario.network.latency_seconds = 0.0;
  scenario.overlap = {0.5, 1.0, 400000};
  scenario.compute_seconds = 3e-3;
  EXPECT_NEAR(step_seconds(phase, scenario, 4, false).exposed, 1e-3 + agreement, 1e-12);
}

TEST(Predict, TheBackgroundHidesBehindSteps) {
  Scenario scenario = simple();
  scenario.compute_seconds = 10e-3;
  const OptionMap options = {{"background_steps", 2}, {"variance_sync_interval", 0}};
  const Prediction hidden = predict("divisible_adam", options, scenario, 4);
  scenario.overlap.background = 0.0;
  const Prediction blocking = predict("divisible_adam", options, scenario, 4);
  // The dense exchange every second step, all of it.
  EXPECT_NEAR(blocking.step.exposed - hidden.step.exposed, 6.291456e-3 / 2, 1e-12);
  EXPECT_EQ(blocking.background_steps, 2);
}

TEST(Predict, WhatIsWantedEarlyHidesBehindFewerSteps) {
  StepPhase phase;
  phase.exchanges = {{Hiding::background, {{Pattern::all_to_all, Traffic::background, 4000000}}, 4}};
  Scenario scenario = simple();
  scenario.compute_seconds = 1e-3;
  // 4 ms every fourth step: 1 ms in each, behind 1 ms of compute.
  EXPECT_NEAR(step_seconds(phase, scenario, 4, false).exchange, 1e-3 + agreement, 1e-12);
  EXPECT_NEAR(step_seconds(phase, scenario, 4, false).exposed, agreement, 1e-12);
  // Wanted after the first of four: behind a quarter of the compute.
  phase.exchanges[0].wanted_after = 1;
  EXPECT_NEAR(step_seconds(phase, scenario, 4, false).exposed, 0.75e-3 + agreement, 1e-12);
}

TEST(Predict, ChoosesTheStepsBetweenBackgroundExchanges) {
  Scenario scenario = simple();
  scenario.compute_seconds = 1e-3;
  scenario.kernels = KernelCosts{};
  scenario.network.link_bytes_per_second = 1e8;
  const OptionMap options = {{"background_steps", "auto"}, {"variance_sync_interval", 0}};
  // The exchange takes 62.9 ms, a step 1 ms and its foreground: 3 messages of SparseMessage's 2^20 elements.
  const double foreground = predict("locally_accumulated_adam",
                                    {{"density", 1.0 / 1024}, {"variance_sync_interval", 0}}, scenario, 4)
                                .step.exposed;
  const double wanted = std::ceil(1.2 * 62.91456e-3 / (1e-3 + foreground));
  EXPECT_EQ(static_cast<double>(predict("divisible_adam", options, scenario, 4).background_steps), wanted);
}

/// 2 nodes of 4, in two levels, 1 GB/s a node.
Scenario two_nodes() {
  Scenario scenario = simple();
  scenario.network.ranks_per_node = 4;
  scenario.network.node_latency_seconds = 0.0;
  scenario.network.node_bytes_per_second = 1e10;
  scenario.levels = Levels::two;
  return scenario;
}

TEST(Predict, TwoLevelsByHand) {
  Scenario scenario = two_nodes();
  const Prediction two = predict("adam", none, scenario, 8);
  // Between 2 nodes: 2^18 elements, half of 1 MiB there and back, with a quarter of the link: 4.194304 ms.
  // Inside: 3/4 of 4 MiB there and back at 10 GB/s.
  EXPECT_NEAR(two.step.exchange, 1048576 / 0.25e9 + 6291456 / 1e10 + agreement_of_eight, 1e-12);
  EXPECT_EQ(two.levels, Levels::two);
  // Flat: 4 ranks send 4/7 of 7/8 of 4 MiB each to the other node, there and back.
  scenario.levels = Levels::flat;
  const Prediction flat = predict("adam", none, scenario, 8);
  EXPECT_NEAR(flat.step.exchange, 2 * 4 * 2097152 / 1e9 + agreement_of_eight, 1e-12);
  scenario.levels = Levels::best;
  EXPECT_EQ(predict("adam", none, scenario, 8).levels, Levels::two);
  EXPECT_EQ(predict("adam", none, scenario, 4).levels, Levels::flat) << "one node";
}

TEST(Predict, WhatHasOneLevelGoesAsInOne) {
  StepPhase phase;
  phase.exchanges = {{Hiding::nothing, {{Pattern::all_gather, Traffic::sparse, 1400000, true}}}};
  // 4 of 7 messages of each of 4 ranks leave: 3.2 MB; between places it would be one of one, 1.4 MB of each.
  EXPECT_NEAR(step_seconds(phase, two_nodes(), 8, true).exchange, 3.2e-3 + agreement_of_eight, 1e-9);
  phase.exchanges[0].transfers[0].has_one_level = false;
  EXPECT_NEAR(step_seconds(phase, two_nodes(), 8, true).exchange, 5.6e-3 + agreement_of_eight, 1e-9);
}

TEST(Predict, MessagesTakeTimeByTheirNumber) {
  Scenario scenario = two_nodes();
  scenario.network.message_seconds = 10e-6;
  // To 7 others and as many back; the agreement takes 3 rounds, in two levels as well.
  scenario.levels = Levels::flat;
  EXPECT_NEAR(predict("onebit_adam", warm_up, scenario, 8).settled.messages, 170e-6, 1e-12);
  // To the other node and to 3 others inside, there and back.
  scenario.levels = Levels::two;
  EXPECT_NEAR(predict("onebit_adam", warm_up, scenario, 8).settled.messages, 110e-6, 1e-12);
  // Every fourth step.
  StepPhase phase;
  phase.exchanges = {{Hiding::nothing, {{Pattern::all_to_all, Traffic::dense, 1400}}, 4}};
  EXPECT_NEAR(step_seconds(phase, scenario, 8, false).messages, 70e-6 / 4 + 30e-6, 1e-12);
}

TEST(Predict, OptimizersWithoutTwoLevelsTakeThoseOfOne) {
  const auto exchange = [](const std::string& name, const OptionMap& options, Levels levels) {
    Scenario scenario = two_nodes();
    scenario.levels = levels;
    return predict(name, options, scenario, 8).settled.exchange;
  };
  const std::vector<std::pair<std::string, OptionMap>> all = {
      {"locally_accumulated_adam", {{"variance_sync_interval", 0}}},
      {"divisible_adam", {{"variance_sync_interval", 0}}},
      {"local_adam", {{"variance", "own"}, {"code", "topk"}, {"density", 0.01}}},
      {"local_adam", {{"variance", "own"}, {"code", "none"}, {"round_delay", 1}}},
      {"low_rank_muon", {}}};
  for (const auto& [name, options] : all) {
    EXPECT_NEAR(exchange(name, options, Levels::two) / exchange(name, options, Levels::flat), 1.0, 1e-9)
        << name;
  }
  EXPECT_LT(exchange("adam", none, Levels::two), 0.8 * exchange("adam", none, Levels::flat));
}

TEST(Predict, RoundsAgreeWhenTheyTakePlace) {
  Scenario scenario = simple();
  scenario.network.latency_seconds = 1e-3;
  // Every 10 steps: two rounds of doubling, and two exchanges of 1 ms.
  const OptionMap rounds = {{"sync_interval", 10}, {"variance", "own"}};
  const double bytes = predict("local_adam", rounds, simple(), 4).step.exchange;
  EXPECT_NEAR(predict("local_adam", rounds, scenario, 4).step.exchange, bytes + 0.4e-3, 1e-9);
  OptionMap each_step = rounds;
  each_step["nonfinite"] = "each_step";
  EXPECT_NEAR(predict("local_adam", each_step, scenario, 4).step.exchange, bytes + 2.2e-3, 1e-6);
}

TEST(Predict, SaysWithWhichOptions) {
  const Prediction given = predict("onebit_adam", warm_up, simple(), 4);
  EXPECT_EQ(given.options, warm_up);
  const Prediction chosen = predict("divisible_adam", {{"background_steps", "auto"}}, simple(), 4);
  EXPECT_EQ(chosen.options.at("background_steps"), OptionValue(chosen.background_steps));
}

TEST(Predict, SlowerNetworksNeverHelp) {
  for (const std::string& name : optimizer_names()) {
    double before = 0.0;
    for (double rate = 1e11; rate >= 1e6; rate /= 3.0) {
      Scenario scenario = simple();
      scenario.network.ranks_per_node = 4;
      scenario.network.node_bytes_per_second = 1e10;
      scenario.network.link_bytes_per_second = rate;
      scenario.compute_seconds = 5e-3;
      scenario.overlap = {0.6, 1.0, 61440};
      const double now = predict(name, options_of(name), scenario, 64).step.total();
      EXPECT_GE(now, before) << name << " at " << rate;
      before = now;
    }
  }
}

TEST(Predict, MoreParametersOrSlowerKernelsNeverHelp) {
  for (const std::string& name : optimizer_names()) {
    Scenario scenario = simple();
    const double plain = predict(name, options_of(name), scenario, 16).step.total();
    scenario.elements *= 2;
    EXPECT_GT(predict(name, options_of(name), scenario, 16).step.total(), plain) << name;
    scenario.elements /= 2;
    scenario.kernels = KernelCosts::at_memory_speed(5e9);
    EXPECT_GT(predict(name, options_of(name), scenario, 16).step.total(), plain) << name;
  }
}

TEST(Predict, EveryKernelCountsSomewhere) {
  for (const Kernel& kernel : calibrated_kernels()) {
    KernelCosts costs;
    costs.set(kernel, 1e-9);
    Scenario scenario = simple();
    scenario.kernels = costs;
    double sum = 0.0;
    for (const std::string& name : optimizer_names()) {
      for (const std::string& code : code_names()) {
        for (const double density : {0.01, 0.001}) {
          for (const std::int64_t block : {0, 4096}) {
            OptionMap options = options_of(name);
            const std::vector<std::string>& codes = optimizer_traits(name).codes;
            const bool sparse = optimizer_traits(name).sparse;
            if (std::find(codes.begin(), codes.end(), code) != codes.end()) options["code"] = code;
            if (sparse) options["density"] = density;
            if (sparse) options["select_block"] = block;
            if (sparse && code == "sign") options["exchange"] = "owner";
            if (!sparse && density < 0.01) options["gradients"] = "bf16";
            if (has_option(name, "parameters") && block == 0) options["parameters"] = "bf16";
            if (has_option(name, "errors") && block == 0) options["errors"] = "bf16";
            if (has_option(name, "moments") && block == 0) options["moments"] = "8bit";
            sum += predict(name, options, scenario, 4).step.kernels;
          }
        }
      }
    }
    EXPECT_GT(sum, 0.0) << kernel.name();
  }
}

TEST(Predict, AKernelThatWasNotMeasuredTakesItsBytes) {
  KernelCosts costs = KernelCosts::at_memory_speed(1e10);
  constexpr Kernel unknown{"of_a_program", 20.0};
  EXPECT_DOUBLE_EQ(costs.per_element(unknown), 2e-9);
  costs.set(cost::scale, 16e-9);  // 2 ns per byte
  costs.take_others_as(cost::scale);
  EXPECT_DOUBLE_EQ(costs.per_element(unknown), 40e-9);
  costs.set(unknown, 1e-9);
  EXPECT_DOUBLE_EQ(costs.per_element(unknown), 1e-9);
}

TEST(Predict, RefusesARunThatIsAllWarmUp) {
  const auto words_of = [](const std::string& name, const OptionMap& options) {
    try {
      (void)predict(name, options, simple(), 4);
    } catch (const std::invalid_argument& refusal) {
      return std::string(refusal.what());
    }
    return std::string("accepted");
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  EXPECT_TRUE(has(words_of("onebit_adam", {{"warmup_steps", "auto"}}), "needs a number"));
  for (const std::string& name : optimizer_names()) {
    const std::string& warmup = optimizer_traits(name).warmup;
    if (warmup.empty()) continue;
    EXPECT_TRUE(has(words_of(name, {{warmup, 100}}), "nothing would be left")) << name;
    EXPECT_TRUE(has(words_of(name, {{warmup, 100}}), warmup.c_str())) << name;
    EXPECT_EQ(words_of(name, {{warmup, 99}}), "accepted") << name;
  }
}

TEST(Predict, RefusesImpossibleFigures) {
  const auto refuses = [](auto change) {
    Scenario scenario = simple();
    change(scenario);
    EXPECT_THROW((void)predict("adam", none, scenario, 4), std::invalid_argument);
  };
  refuses([](Scenario& s) { s.elements = 0; });
  refuses([](Scenario& s) { s.steps = 0; });
  refuses([](Scenario& s) { s.compute_seconds = -1.0; });
  refuses([](Scenario& s) { s.overlap.backward = 1.5; });
  refuses([](Scenario& s) { s.network.link_bytes_per_second = 0.0; });
  EXPECT_THROW((void)predict("adam", none, simple(), 0), std::invalid_argument);
  EXPECT_THROW((void)KernelCosts::at_memory_speed(0.0), std::invalid_argument);
  KernelCosts costs;
  EXPECT_NO_THROW(costs.set(cost::copy, 0.0));
  EXPECT_THROW(costs.set(cost::copy, -1e-12), std::invalid_argument);
  EXPECT_THROW(costs.set(cost::copy, std::numeric_limits<double>::infinity()), std::invalid_argument);
}

}  // namespace
}  // namespace kadam::plan
