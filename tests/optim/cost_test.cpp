// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/any_quantiser.hpp>
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/pretend_transport.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

/// What optimizers cost, before they are made. That the bytes are those that are counted, and the memory that
/// which is held, is tested where steps are taken.
namespace kadam {
namespace {

/// Elements by the name of the kernel.
using Elements = std::map<std::string, double>;

Elements work_of(const StepPhase& phase) {
  Elements work;
  for (const Work& one : phase.work) work[one.kernel.name()] += one.elements;
  return work;
}

/// In the last phase, on 2 ranks.
Elements last_work(const std::string& name, const OptionMap& options, std::int64_t elements) {
  return work_of(optimizer_cost(name, options, elements, Arrangement::flat(2)).phases.back());
}

/// For a made optimizer and for one that is not, but for a CPU's smaller buffers.
TEST(OptimizerCost, IsThatOfTheOptimizer) {
  for (const std::string& name : optimizer_names()) {
    for (const int ranks : {1, 3, 16}) {
      constexpr std::int64_t elements = 100003;
      const OptionMap options = test::options_with_warmup(name, 100);
      const auto optimizer =
          make_optimizer(name, options, TensorLayout({{"all", 0, elements}}),
                         std::make_shared<Communicator>(std::make_unique<test::PretendTransport>(ranks)));
      const AlgorithmCost cost = optimizer_cost(name, options, elements, Arrangement::flat(ranks));
      EXPECT_EQ(cost.memory.state_bytes, optimizer->memory().state_bytes) << name << ", n = " << ranks;
      if (!optimizer_traits(name).sparse) {
        EXPECT_EQ(cost.memory.workspace_bytes, optimizer->memory().workspace_bytes) << name;
      }
      std::size_t sent = 0;
      for (const StepPhase& phase : cost.phases) {
        for (const PlannedExchange& exchange : phase.exchanges) {
          for (const Transfer& transfer : exchange.transfers) sent += transfer.bytes;
        }
      }
      std::size_t planned = 0;
      for (const PlannedTraffic& traffic : optimizer->traffic_plan()) planned += traffic.bytes;
      EXPECT_EQ(sent, planned) << name << ", n = " << ranks;
    }
  }
}

/// Elements beyond 32 bits, bytes beyond 38: everything is 1024 times what it is for a 1024th of the
/// elements, but for blocks that are not full, and figures of tensors.
TEST(OptimizerCost, GrowsWithElementsBeyond32Bits) {
  constexpr std::int64_t few = std::int64_t{1} << 23;
  constexpr std::size_t times = 1024;
  for (const std::string& name : optimizer_names()) {
    for (const Arrangement& ranks :
         {Arrangement::flat(2), Arrangement::flat(64), Arrangement::of_nodes(8, 8)}) {
      const OptionMap options = test::options_with_warmup(name, 100);
      const AlgorithmCost small = optimizer_cost(name, options, few, ranks);
      const AlgorithmCost large = optimizer_cost(name, options, few * std::int64_t{times}, ranks);
      const auto expect_grown = [&](auto before, auto after, const std::string& what) {
        const double wanted = static_cast<double>(before) * times;
        EXPECT_NEAR(static_cast<double>(after), wanted, 0.02 * wanted) << name << ": " << what;
      };
      expect_grown(small.memory.state_bytes, large.memory.state_bytes, "state");
      // Muon's products have room for a few matrices, however many there are.
      EXPECT_GT(large.memory.workspace_bytes, times / 2 * small.memory.workspace_bytes) << name;
      EXPECT_LT(large.memory.workspace_bytes, (times + times / 50) * small.memory.workspace_bytes) << name;
      ASSERT_EQ(small.phases.size(), large.phases.size()) << name;
      for (std::size_t p = 0; p < small.phases.size(); ++p) {
        for (const auto& [kernel, elements] : work_of(small.phases[p]))
          expect_grown(elements, work_of(large.phases[p])[kernel], kernel);
        ASSERT_EQ(small.phases[p].exchanges.size(), large.phases[p].exchanges.size()) << name;
        for (std::size_t e = 0; e < small.phases[p].exchanges.size(); ++e) {
          const auto& transfers = small.phases[p].exchanges[e].transfers;
          for (std::size_t t = 0; t < transfers.size(); ++t)
            expect_grown(transfers[t].bytes, large.phases[p].exchanges[e].transfers[t].bytes, "bytes");
        }
      }
    }
  }
}

TEST(OptimizerCost, ShardsOfTwoLevelsAreThoseOfTheirPlaces) {
  // d = 1024 on 2 nodes of 2: half of 2048 B inside the node each way, a quarter of 4096 B between the nodes.
  const AlgorithmCost cost = optimizer_cost("adam", {}, 1024, Arrangement::of_nodes(2, 2));
  std::map<Traffic, std::size_t> bytes;
  for (const Transfer& transfer : cost.phases.front().exchanges.front().transfers)
    bytes[transfer.traffic] += transfer.bytes;
  EXPECT_EQ(bytes[Traffic::node], 4096U);
  EXPECT_EQ(bytes[Traffic::dense], 2048U);
  // m and v; parts of the node's mean 4 KiB, of the nodes' mean 2 KiB; the result, and the shard of the node.
  EXPECT_EQ(cost.memory.state_bytes, 8192U);
  EXPECT_EQ(cost.memory.workspace_bytes, 4096U + 2048U + 4096U + 2048U);
}

/// As many bytes as without, in float32; in 16 bits, twice those of the gather, which is one of x.
TEST(OptimizerCost, OfADividedState) {
  const auto bytes_of = [](const AlgorithmCost& cost) {
    std::map<Traffic, std::size_t> bytes;
    for (const PlannedExchange& exchange : cost.phases.front().exchanges)
      for (const Transfer& transfer : exchange.transfers) bytes[transfer.traffic] += transfer.bytes;
    return bytes;
  };
  // d = 1024 on 4 ranks: 768 elements to their owners, 256 to 3 ranks.
  OptionMap options = {{"shard_state", true}, {"clip_norm", 1.0}};
  const AlgorithmCost flat = optimizer_cost("adam", options, 1024, Arrangement::flat(4));
  EXPECT_EQ(bytes_of(flat), (std::map<Traffic, std::size_t>{{Traffic::dense, 6144}}));
  EXPECT_EQ(flat.memory.state_bytes, 2048U);
  EXPECT_EQ(flat.memory.workspace_bytes, 4096U + 1024U);
  EXPECT_EQ(work_of(flat.phases.front()),
            (Elements{{"check", 1024 + 256}, {"dense_mean", 1024}, {"adam_update", 256}}));
  // On 2 nodes of 2: shards of 512.
  const AlgorithmCost nodes = optimizer_cost("adam", options, 1024, Arrangement::of_nodes(2, 2));
  EXPECT_EQ(bytes_of(nodes), (std::map<Traffic, std::size_t>{{Traffic::node, 4096}, {Traffic::dense, 2048}}));
  EXPECT_EQ(nodes.memory.state_bytes, 4096U);
  EXPECT_EQ(nodes.memory.workspace_bytes, 4096U + 2048U + 2048U + 2048U);
  options["gradients"] = "bf16";
  EXPECT_EQ(bytes_of(optimizer_cost("adam", options, 1024, Arrangement::flat(4))).at(Traffic::dense),
            1536U + 3072U);
  const auto half = bytes_of(optimizer_cost("adam", options, 1024, Arrangement::of_nodes(2, 2)));
  EXPECT_EQ(half.at(Traffic::dense), 1024U);
  EXPECT_EQ(half.at(Traffic::node), 1024U + 2048U);
  const AlgorithmCost alone = optimizer_cost("adam", options, 1024, Arrangement::flat(1));
  EXPECT_EQ(alone.memory.state_bytes, 8192U);
}

TEST(OptimizerCost, StepsAddUpToARun) {
  for (const std::string& name : optimizer_names()) {
    double sum = 0.0;
    for (const StepPhase& phase :
         optimizer_cost(name, test::options_with_warmup(name, 100), 5000, Arrangement::flat(4)).phases) {
      const StepCount count = phase.count(1000);
      EXPECT_LE(count.settled, count.all) << name;
      sum += count.all;
    }
    EXPECT_DOUBLE_EQ(sum, 1000.0) << name;
  }
}

TEST(OptimizerCost, CountsTheStepsOfZeroOneAdam) {
  // kappa = 2, freeze = 10: variance steps 1, 2, 3, 5, 7. Then gaps of 1 for 10 steps and of 2 from 21 on.
  const OptionMap options = {{"variance_freeze_step", 10},
                             {"variance_kappa", 2},
                             {"sync_doubling_steps", 10},
                             {"sync_interval_max", 2}};
  const auto phases = optimizer_cost("zero_one_adam", options, 5000, Arrangement::flat(4)).phases;
  ASSERT_EQ(phases.size(), 3);
  EXPECT_DOUBLE_EQ(phases[0].count(30).all, 5.0);  // variance
  EXPECT_DOUBLE_EQ(phases[0].count(30).settled, 0.0);
  EXPECT_DOUBLE_EQ(phases[1].count(30).all, 20.0);      // 5 up to step 10, and
  EXPECT_DOUBLE_EQ(phases[1].count(30).settled, 15.0);  // 11 to 20, then 22, 24, ... 30
  EXPECT_DOUBLE_EQ(phases[2].count(30).all, 5.0);       // 21, 23, ... 29
  EXPECT_DOUBLE_EQ(phases[2].count(20).all, 0.0);
}

TEST(OptimizerCost, WorkOfOneBitAdamByHand) {
  // d = 1024, n = 4: chunks of 256. Check, code, sum of 4 x 256, reply of 256, decoding.
  const auto phases =
      optimizer_cost("onebit_adam", {{"warmup_steps", 10}}, 1024, Arrangement::flat(4)).phases;
  ASSERT_EQ(phases.size(), 2);
  EXPECT_EQ(work_of(phases[1]), (Elements{{"check", 1024.0},
                                          {"encode_sign", 1024.0},
                                          {"reduce_sign", 1024.0},
                                          {"reply", 256.0},
                                          {"decode_sign", 1024.0}}));
  EXPECT_DOUBLE_EQ(phases[0].count(100).all, 10.0);
  EXPECT_DOUBLE_EQ(phases[1].count(100).settled, 90.0);
}

TEST(OptimizerCost, AWarmUpWithACodeByHand) {
  // d = 1024, n = 4: chunks of 256, 8 bits, a scale each: 260 B. The gradient is added to the errors, and
  // what is decoded updates m and v beside x.
  const auto of = [](const std::string& name, const std::string& code) {
    return optimizer_cost(name, {{"warmup_steps", 10}, {"warmup_code", code}}, 1024, Arrangement::flat(4));
  };
  const AlgorithmCost adam = of("onebit_adam", "uniform8");
  const StepPhase& warm_up = adam.phases.front();
  Elements expected = {{"check", 1024.0},           {"scale", 2.5 * 1024.0}, {"encode_uniform8", 1024.0},
                       {"reduce_uniform8", 1024.0}, {"reply", 256.0},        {"decode_uniform8", 1024.0}};
  EXPECT_EQ(work_of(warm_up), expected);
  std::size_t sent = 0;
  for (const PlannedExchange& exchange : warm_up.exchanges) {
    for (const Transfer& transfer : exchange.transfers) sent += transfer.bytes;
  }
  EXPECT_EQ(sent, 2U * 3U * 260U);
  EXPECT_DOUBLE_EQ(warm_up.count(100).all, 10.0);
  // In place of DenseMean's 8 d: own messages, replies and those of 4 ranks, 4 x 260 B each; a mask of 136 B.
  const AlgorithmCost dense = of("onebit_adam", "none");
  EXPECT_EQ(adam.memory.state_bytes, dense.memory.state_bytes);
  EXPECT_EQ(adam.memory.workspace_bytes + 8U * 1024U, dense.memory.workspace_bytes + 3U * 4U * 260U + 136U);
  expected["scale"] = 1024.0;
  expected["lamb_update"] = 1024.0;
  EXPECT_EQ(work_of(of("onebit_lamb", "uniform8").phases.front()), expected);
}

TEST(OptimizerCost, WorkOfADenseStepByHand) {
  EXPECT_EQ(last_work("adam", {}, 1024),
            (Elements{{"check", 1024.0}, {"dense_mean", 1024.0}, {"adam_update", 1024.0}}));
  // To clip, the norm of the mean is wanted as well.
  EXPECT_EQ(last_work("adam", {{"clip_norm", 1.0}}, 1024),
            (Elements{{"check", 2048.0}, {"dense_mean", 1024.0}, {"adam_update", 1024.0}}));
  EXPECT_EQ(last_work("adam", {{"gradients", "bf16"}}, 1024),
            (Elements{{"check", 1024.0}, {"dense_mean", 1024.0}, {"adam_update_half", 1024.0}}));
  EXPECT_EQ(last_work("adam", {{"moments", "8bit"}}, 1024),
            (Elements{{"check", 1024.0}, {"dense_mean", 1024.0}, {"update_byte_moments", 1024.0}}));
  EXPECT_EQ(last_work("adam", {{"moments", "8bit"}, {"gradients", "bf16"}}, 1024),
            (Elements{{"check", 1024.0}, {"dense_mean", 1024.0}, {"update_byte_moments_half", 1024.0}}));
}

TEST(OptimizerCost, MemoryOfMomentsInEightBitsByHand) {
  // 1000 elements in 4 blocks: 2000 B of codes, 32 B of scales, 32 B that say where the one tensor is.
  const auto state = [](const OptionMap& options) {
    return optimizer_cost("adam", options, 1000, Arrangement::flat(4)).memory.state_bytes;
  };
  EXPECT_EQ(state({{"moments", "8bit"}}), 2064U);
  EXPECT_EQ(state({{"moments", "float32"}}), 8000U);
}

TEST(OptimizerCost, WorkOfASparseStepByHand) {
  // Two blocks of 4096, 41 entries each; every fourth step a mean of the variance, copied to and fro.
  const OptionMap options = {{"density", 0.01}, {"variance_sync_interval", 4}};
  Elements expected = {{"check", 8192.0},        {"accumulate_direction", 8192.0}, {"top_k_percent", 8192.0},
                       {"sparse_sum", 164.0},    {"dense_mean", 8192.0 / 4},       {"copy", 8192.0 / 4},
                       {"scale", 2 * 8192.0 / 4}};
  EXPECT_EQ(last_work("locally_accumulated_adam", options, 8192), expected);
  OptionMap decaying = options;
  decaying["weight_decay"] = 0.1;
  expected["scale"] += 8192.0;
  EXPECT_EQ(last_work("locally_accumulated_adam", decaying, 8192), expected);
}

/// An entry is 14 bits instead of 32 and its index, and is looked at once more.
TEST(OptimizerCost, OfTwoLevelsByHand) {
  const OptionMap options = {{"density", 0.01}, {"variance_sync_interval", 0}, {"value_bits", 2}};
  EXPECT_EQ(last_work("locally_accumulated_adam", options, 8192), (Elements{{"check", 8192.0},
                                                                            {"accumulate_direction", 8192.0},
                                                                            {"top_k_percent", 8192.0},
                                                                            {"sparse_sum", 164.0 + 82.0}}));
  const AlgorithmCost cost =
      optimizer_cost("divisible_adam", {{"density", 0.01}, {"value_bits", 2}}, 8192, Arrangement::flat(4));
  std::size_t sparse_bytes = 0;
  for (const PlannedExchange& exchange : cost.phases.back().exchanges) {
    for (const Transfer& transfer : exchange.transfers)
      sparse_bytes += transfer.traffic == Traffic::sparse ? transfer.bytes : 0;
  }
  EXPECT_EQ(sparse_bytes, 3U * 160U);
}

TEST(OptimizerCost, MemoryOfASparseStepByHand) {
  // d = 8192, n = 2: two blocks of 4096, each with a message of 228 B; regions of one block.
  const auto memory_of = [](const char* exchange, std::int64_t select_block = 4096) {
    const OptionMap options = {{"density", 0.01}, {"exchange", exchange}, {"select_block", select_block}};
    return optimizer_cost("locally_accumulated_adam", options, 8192, Arrangement::flat(2)).memory;
  };
  EXPECT_EQ(memory_of("own").state_bytes, 3U * 32768U);  // m, v, residual
  const AlgorithmCost ahead =
      optimizer_cost("locally_accumulated_adam", {{"step_ahead", 0.5}}, 8192, Arrangement::flat(2));
  EXPECT_EQ(ahead.memory.state_bytes, 4U * 32768U);  // and the common parameters
  // For means of the variance: parts of two ranks, and the result.
  constexpr std::size_t variance = 32768 + 32768;
  // Everybody's message from both. A GPU's teams add such blocks up in memory of their own.
  EXPECT_EQ(memory_of("own").workspace_bytes, variance + 2 * 456);
  // One block: 82 values, and 34 words of indices; sums of all elements.
  EXPECT_EQ(memory_of("own", 8192).workspace_bytes, variance + 2 * 464 + 32768);
  // The region's message from both; the own message, and what is kept of all; the mean of the region.
  EXPECT_EQ(memory_of("owner").workspace_bytes, variance + 2 * 228 + 2 * 456 + 16384);
  // Two blocks of 80 B from both ranks, and the exact message.
  const AlgorithmCost levels = optimizer_cost(
      "locally_accumulated_adam", {{"density", 0.01}, {"value_bits", 2}}, 8192, Arrangement::flat(2));
  EXPECT_EQ(levels.memory.workspace_bytes, variance + 2 * 160 + 456);
}

TEST(OptimizerCost, OfAFactoredVarianceByHand) {
  // A matrix of 100 x 92 and a bias of 64: 256 numbers, in chunks of 64 on 4 ranks.
  const TensorLayout layout({{"w", 0, 9200, {100, 92}}, {"b", 9200, 9264}});
  constexpr std::size_t d = 9264;
  for (const std::string name : {"locally_accumulated_adam", "efficient_adam"}) {
    const auto made = [&](const OptionMap& options) {
      return make_optimizer(name, options, layout,
                            std::make_shared<Communicator>(std::make_unique<test::PretendTransport>(4)));
    };
    const auto optimizer = made({{"variance", "factored"}});
    const auto own = made({});
    EXPECT_EQ(optimizer->memory().state_bytes, own->memory().state_bytes - 4 * d + 4 * 256) << name;
    bool is_planned = false;
    for (const PlannedTraffic& traffic : optimizer->traffic_plan()) {
      if (traffic.traffic != Traffic::dense || traffic.every == 1) continue;
      EXPECT_EQ(traffic.every, 10) << name;
      EXPECT_EQ(traffic.bytes, 2U * 3U * 256U) << name;  // 2 (n - 1)/n 4 f
      is_planned = true;
    }
    EXPECT_TRUE(is_planned) << name;
    const auto never = made({{"variance", "factored"}, {"variance_sync_interval", 0}});
    for (const PlannedTraffic& traffic : never->traffic_plan()) EXPECT_EQ(traffic.every, 1) << name;
  }
}

TEST(OptimizerCost, StateOfShardsByHand) {
  // d = 1024, n = 2: m and v of 512 elements; an error of 8 bits, with a step for each of 4 blocks of 256.
  const AlgorithmCost cost = optimizer_cost("loco", {}, 1024, Arrangement::flat(2));
  EXPECT_EQ(cost.memory.state_bytes, 2U * 4U * 512U + 1024U + 4U * 4U);
}

TEST(OptimizerCost, TheKernelThatSelectsIsThatOfTheDensityAndTheBlock) {
  const auto selects = [](double density, std::int64_t block, const std::string& kernel) {
    const OptionMap options = {{"density", density}, {"select_block", block}};
    const Elements work = last_work("locally_accumulated_adam", options, 100000);
    for (const std::string other :
         {"top_k_percent", "top_k_permille", "top_k_all_percent", "top_k_all_permille"}) {
      EXPECT_EQ(work.contains(other), other == kernel) << density << ", " << block;
    }
  };
  selects(0.01, 4096, "top_k_percent");
  selects(0.001, 4096, "top_k_permille");
  selects(0.01, 0, "top_k_all_percent");
  selects(0.001, 0, "top_k_all_permille");
}

TEST(OptimizerCost, NamesTheKernelsOfEveryCode) {
  for (const std::string& name : optimizer_names()) {
    for (const std::string& code : optimizer_traits(name).codes) {
      OptionMap options = test::options_with_warmup(name, 100);
      options["code"] = code;
      Elements work;
      for (const StepPhase& phase : optimizer_cost(name, options, 1024, Arrangement::flat(2)).phases)
        work.merge(work_of(phase));
      EXPECT_TRUE(work.contains("encode_" + code) || work.contains("loco_encode_" + code)) << name << code;
    }
  }
}

TEST(OptimizerCost, RefusesWhatItCannotKnow) {
  const auto words_of = [](const std::string& name, const OptionMap& options) {
    try {
      (void)optimizer_cost(name, options, 1000, Arrangement::flat(4));
    } catch (const std::invalid_argument& refusal) {
      return std::string(refusal.what());
    }
    return std::string("accepted");
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  EXPECT_TRUE(has(words_of("sgd", {}), "no optimizer 'sgd'"));
  EXPECT_TRUE(has(words_of("adam", {{"bits", 1}}), "bits"));
  EXPECT_TRUE(has(words_of("onebit_adam", {}), "warmup_steps"));
  EXPECT_TRUE(has(words_of("adam", {{"dense_below", 5}}), "dense_below"));
}

}  // namespace
}  // namespace kadam
