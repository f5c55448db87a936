// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/wire/sparse_message.hpp>
#include <plan/algorithm_plan.hpp>
#include <plan/pretend_transport.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>

namespace kadam::plan {
namespace {

constexpr std::int64_t steps = 1000;

struct Case {
  std::string name;
  OptionMap options;
};

std::vector<Case> cases() {
  const OptionValue warm_up = 100;
  const OptionValue two = 2;
  return {{"adam", {}},
          {"adam", {{"gradients", "bf16"}}},
          {"lamb", {}},
          {"onebit_adam", {{"warmup_steps", warm_up}}},
          {"onebit_adam", {{"warmup_steps", warm_up}, {"block", 0}}},
          {"onebit_adam", {{"warmup_steps", warm_up}, {"gradients", "bf16"}}},
          {"apmsqueeze", {{"warmup_steps", warm_up}}},
          {"apmsqueeze", {{"warmup_steps", warm_up}, {"bits", two}}},
          {"zero_one_adam", {{"variance_freeze_step", warm_up}, {"sync_doubling_steps", warm_up}}},
          {"onebit_lamb", {{"warmup_steps", warm_up}}},
          {"efficient_adam", {{"bits", 8}}},
          {"efficient_adam", {{"code", "float8"}}},
          {"loco", {}},
          {"loco", {{"parameters", "bf16"}, {"bits", two}}},
          {"locally_accumulated_adam", {{"step_ahead", 1.0}}},
          {"locally_accumulated_adam", {{"exchange", "owner"}, {"warmup_steps", warm_up}}},
          {"locally_accumulated_adam", {{"exchange", "owner"}, {"select_block", 0}}},
          {"locally_accumulated_adam", {{"variance_delay", two}}},
          {"divisible_adam", {{"background_steps", 7}}},
          {"divisible_adam", {{"variance_sync_interval", 9}, {"variance_delay", two}}},
          {"divisible_adam", {{"variance_sync_interval", 0}, {"warmup_steps", warm_up}}}};
}

std::unique_ptr<Optimizer> made(const Case& one, std::int64_t elements, int ranks) {
  const TensorLayout layout({{"all", 0, elements}});
  const auto communicator = std::make_shared<Communicator>(std::make_unique<test::PretendTransport>(ranks));
  return make_optimizer(one.name, one.options, layout, communicator);
}

/// Bytes by phase, class of traffic and distance in steps.
using Traffics = std::map<std::tuple<std::string, Traffic, std::int64_t>, std::size_t>;

Traffics traffic_of(const Optimizer& optimizer) {
  Traffics sums;
  for (const PlannedTraffic& planned : optimizer.traffic_plan()) {
    if (planned.bytes > 0) sums[{planned.phase, planned.traffic, planned.every}] += planned.bytes;
  }
  return sums;
}

/// Transfers of Traffic::compressed and dense in one exchange are told apart by the test alone: LoCo gathers
/// its parameters in the exchange that brings the gradient.
Traffics traffic_of(const AlgorithmPlan& plan, bool gathers_parameters) {
  Traffics sums;
  for (const StepPhase& phase : plan.phases) {
    for (const Exchange& exchange : phase.exchanges) {
      for (const Transfer& transfer : exchange.transfers) {
        const bool dense = gathers_parameters && transfer.pattern == Pattern::all_gather;
        const Traffic traffic = dense ? Traffic::dense : exchange.traffic;
        if (transfer.bytes > 0) sums[{phase.name, traffic, exchange.every}] += transfer.bytes;
      }
    }
  }
  // The steps of 0/1 Adam before the freeze are a phase of their own, and synchronise as the others do.
  for (auto& [key, bytes] : sums) {
    if (std::get<0>(key) == "sync") bytes /= 2;
  }
  return sums;
}

TEST(AlgorithmPlan, BytesAreThoseOfTheOptimizer) {
  for (const Case& one : cases()) {
    for (const std::int64_t elements : {301L, 5000L, 100003L}) {
      for (const int ranks : {1, 2, 3, 4, 16, 100}) {
        const AlgorithmPlan plan =
            plan_algorithm(one.name, one.options, Problem::flat(elements, ranks, steps));
        EXPECT_EQ(traffic_of(plan, optimizer_traits(one.name).shards),
                  traffic_of(*made(one, elements, ranks)))
            << one.name << ", d = " << elements << ", n = " << ranks;
      }
    }
  }
}

/// What is planned for the sums of sparse messages is what a GPU needs; a CPU needs a block per thread.
std::size_t unneeded_sums(const Case& one, const OptionMap& resolved, std::int64_t elements, int ranks) {
  if (!optimizer_traits(one.name).sparse || ranks == 1 || one.options.contains("exchange")) return 0;
  const double density = std::get<double>(resolved.at("density"));
  const std::int64_t sums =
      sparse_sum_elements(ExecutionSpace(), SparseMessage(elements, 4096, density).map());
  return sizeof(float) * static_cast<std::size_t>(elements - sums);
}

TEST(AlgorithmPlan, MemoryIsThatOfTheOptimizer) {
  constexpr std::int64_t elements = 100003;
  for (const Case& one : cases()) {
    for (const int ranks : {1, 2, 4, 16}) {
      const MemoryUse planned =
          plan_algorithm(one.name, one.options, Problem::flat(elements, ranks, steps)).memory;
      const auto optimizer = made(one, elements, ranks);
      const MemoryUse held = optimizer->memory();
      EXPECT_EQ(planned.state_bytes, held.state_bytes) << one.name << ", n = " << ranks;
      const std::size_t workspace =
          planned.workspace_bytes - unneeded_sums(one, optimizer->options(), elements, ranks);
      // LAMB has tiles of its tensors, with partial sums.
      const bool has_tiles = optimizer_traits(one.name).per_tensor;
      EXPECT_LE(workspace, held.workspace_bytes) << one.name << ", n = " << ranks;
      EXPECT_GE(workspace + (has_tiles ? 8192 : 0), held.workspace_bytes) << one.name << ", n = " << ranks;
    }
  }
}

TEST(AlgorithmPlan, SharesAddUpToARun) {
  for (const Case& one : cases()) {
    double sum = 0.0;
    for (const StepPhase& phase :
         plan_algorithm(one.name, one.options, Problem::flat(5000, 4, steps)).phases) {
      sum += phase.share;
    }
    EXPECT_NEAR(sum, 1.0, 1e-12) << one.name;
  }
}

TEST(AlgorithmPlan, CountsTheStepsOfZeroOneAdam) {
  // kappa = 2, freeze = 10: variance steps 1, 2, 3, 5, 7. Then gaps of 1 for 10 steps and of 2 from 21 on.
  const OptionMap options = {{"variance_freeze_step", 10},
                             {"variance_kappa", 2},
                             {"sync_doubling_steps", 10},
                             {"sync_interval_max", 2}};
  const auto phases = plan_algorithm("zero_one_adam", options, Problem::flat(5000, 4, 30)).phases;
  ASSERT_EQ(phases.size(), 4);
  EXPECT_DOUBLE_EQ(phases[0].share, 5.0 / 30.0);   // variance
  EXPECT_DOUBLE_EQ(phases[1].share, 5.0 / 30.0);   // synchronisations up to step 10
  EXPECT_DOUBLE_EQ(phases[2].share, 15.0 / 30.0);  // 11 to 20, then 22, 24, ... 30
  EXPECT_DOUBLE_EQ(phases[3].share, 5.0 / 30.0);   // 21, 23, ... 29
  EXPECT_FALSE(phases[1].settled);
  EXPECT_TRUE(phases[2].settled);
}

TEST(AlgorithmPlan, WorkOfOneBitAdamByHand) {
  // d = 1024, n = 4: chunks of 256. Check, code, sum of 4 x 256, reply of 256, decoding.
  const auto phases =
      plan_algorithm("onebit_adam", {{"warmup_steps", 10}}, Problem::flat(1024, 4, 100)).phases;
  ASSERT_EQ(phases.size(), 2);
  std::map<Kernel, double> work;
  for (const Work& one : phases[1].work) work[one.kernel] += one.elements;
  EXPECT_EQ(work, (std::map<Kernel, double>{{Kernel::check, 1024.0},
                                            {encode_kernel("sign"), 1024.0},
                                            {reduce_kernel("sign"), 1024.0},
                                            {Kernel::reply, 256.0},
                                            {decode_kernel("sign"), 1024.0}}));
  EXPECT_DOUBLE_EQ(phases[1].share, 0.9);
}

/// Elements by kernel, in the last phase of a run on 2 ranks.
std::map<Kernel, double> work_of(const std::string& name, const OptionMap& options, std::int64_t elements) {
  const AlgorithmPlan plan = plan_algorithm(name, options, Problem::flat(elements, 2, steps));
  std::map<Kernel, double> work;
  for (const Work& one : plan.phases.back().work) work[one.kernel] += one.elements;
  return work;
}

TEST(AlgorithmPlan, WorkOfADenseStepByHand) {
  using Elements = std::map<Kernel, double>;
  EXPECT_EQ(work_of("adam", {}, 1024),
            (Elements{{Kernel::check, 1024.0}, {Kernel::dense_mean, 1024.0}, {Kernel::adam_update, 1024.0}}));
  // To clip, the norm of the mean is wanted as well.
  EXPECT_EQ(work_of("adam", {{"clip_norm", 1.0}}, 1024),
            (Elements{{Kernel::check, 2048.0}, {Kernel::dense_mean, 1024.0}, {Kernel::adam_update, 1024.0}}));
  EXPECT_EQ(
      work_of("adam", {{"gradients", "bf16"}}, 1024),
      (Elements{{Kernel::check, 1024.0}, {Kernel::dense_mean, 1024.0}, {Kernel::adam_update_half, 1024.0}}));
}

TEST(AlgorithmPlan, WorkOfASparseStepByHand) {
  // Two blocks of 4096, 41 entries each; every fourth step a mean of the variance, copied to and fro.
  const OptionMap options = {{"density", 0.01}, {"variance_sync_interval", 4}};
  std::map<Kernel, double> expected = {
      {Kernel::check, 8192.0},        {Kernel::accumulate_direction, 8192.0}, {Kernel::top_k_percent, 8192.0},
      {Kernel::sparse_sum, 164.0},    {Kernel::dense_mean, 8192.0 / 4},       {Kernel::copy, 8192.0 / 4},
      {Kernel::scale, 2 * 8192.0 / 4}};
  EXPECT_EQ(work_of("locally_accumulated_adam", options, 8192), expected);
  OptionMap decaying = options;
  decaying["weight_decay"] = 0.1;
  expected[Kernel::scale] += 8192.0;
  EXPECT_EQ(work_of("locally_accumulated_adam", decaying, 8192), expected);
}

TEST(AlgorithmPlan, TheKernelThatSelectsIsThatOfTheDensityAndTheBlock) {
  constexpr std::int64_t elements = 100000;
  const auto selects = [](double density, std::int64_t block, Kernel kernel) {
    const OptionMap options = {{"density", density}, {"select_block", block}};
    const auto work = work_of("locally_accumulated_adam", options, elements);
    for (const Kernel other : {Kernel::top_k_percent, Kernel::top_k_permille, Kernel::top_k_all_percent,
                               Kernel::top_k_all_permille}) {
      EXPECT_EQ(work.contains(other), other == kernel) << density << ", " << block;
    }
  };
  selects(0.01, 4096, Kernel::top_k_percent);
  selects(0.001, 4096, Kernel::top_k_permille);
  selects(0.01, 0, Kernel::top_k_all_percent);
  selects(0.001, 0, Kernel::top_k_all_permille);
}

TEST(AlgorithmPlan, RefusesWhatItCannotPlan) {
  const auto words_of = [](const std::string& name, const OptionMap& options) {
    try {
      (void)plan_algorithm(name, options, Problem::flat(1000, 4, 100));
    } catch (const std::invalid_argument& refusal) {
      return std::string(refusal.what());
    }
    return std::string("accepted");
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  EXPECT_TRUE(has(words_of("sgd", {}), "no optimizer 'sgd'"));
  EXPECT_TRUE(has(words_of("adam", {{"bits", 1}}), "bits"));
  EXPECT_TRUE(has(words_of("onebit_adam", {}), "warmup_steps"));
  EXPECT_TRUE(has(words_of("onebit_adam", {{"warmup_steps", "auto"}}), "needs a number"));
  EXPECT_TRUE(has(words_of("onebit_adam", {{"warmup_steps", 100}}), "nothing would be left"));
  EXPECT_TRUE(has(words_of("adam", {{"dense_below", 5}}), "dense_below"));
  EXPECT_TRUE(has(words_of("divisible_adam", {{"background_steps", "auto"}}), "a number"));
  for (const Problem& none :
       {Problem::flat(0, 4, 100), Problem::flat(1000, 0, 100), Problem::flat(1000, 4, 0)}) {
    EXPECT_THROW((void)plan_algorithm("adam", {}, none), std::invalid_argument);
  }
}

}  // namespace
}  // namespace kadam::plan
