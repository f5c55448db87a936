// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/growth.hpp>
#include <bench/lone_rank.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <support/host_views.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <vector>

/// One rank of many in one process: what it hands to the transport and allocates is what the plan says, for
/// more ranks than a test machine has.
namespace kadam::bench::growth_test {
namespace {

/// 256 chunks of 256 elements.
constexpr std::int64_t elements = std::int64_t{1} << 16;

class Growth : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static GrowthResult measured(const std::string& optimizer, int ranks, int ranks_per_node) {
    return measure_growth({optimizer, elements, ranks, ranks_per_node, 8, 1});
  }
};

TEST_P(Growth, OfBytesIsThePlans) {
  for (const std::string& name : optimizer_names()) {
    for (const int ranks_per_node : {1, 2}) {
      const GrowthResult result = measured(name, GetParam(), ranks_per_node);
      EXPECT_EQ(result.bytes, result.planned_bytes) << name << ", " << ranks_per_node << " ranks per node";
      EXPECT_GT(result.bytes, 0.0) << name;
    }
  }
}

/// Short parameters of shards are gathered in one message each, which the plan cuts into pieces.
TEST_P(Growth, OfMessagesIsThePlans) {
  for (const std::string& name : optimizer_names()) {
    const GrowthResult result = measured(name, GetParam(), 1);
    if (optimizer_traits(name).shards) {
      EXPECT_LE(result.messages, result.planned_messages);
    } else {
      EXPECT_EQ(result.messages, result.planned_messages) << name;
    }
    EXPECT_GE(result.messages, has_option(name, "sync_interval") ? 0.25 * (GetParam() - 1) : GetParam() - 1)
        << name;
  }
}

/// But for tables of segments and the like, which no plan counts.
TEST_P(Growth, OfMemoryIsThePlans) {
  constexpr std::size_t tables = 16384;
  for (const std::string& name : optimizer_names()) {
    const GrowthResult result = measured(name, GetParam(), 1);
    EXPECT_GE(result.held_bytes, result.planned_held_bytes) << name;
    EXPECT_LE(result.held_bytes, result.planned_held_bytes + tables) << name;
  }
}

/// Ranks agree by doubling: two gathers of 16 B at most.
TEST_P(Growth, OfAgreementIsLogarithmic) {
  const GrowthResult result = measured("adam", GetParam(), 1);
  EXPECT_EQ(result.agreement_messages, std::bit_width(static_cast<unsigned>(GetParam() - 1)));
  EXPECT_EQ(result.agreement_bytes, 16.0 * (GetParam() - 1));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Growth, testing::Values(2, 16, 256));

TEST(LoneRank, FindsTheMeanOfMirrors) {
  // Each of 4 ranks has 0.5 everywhere: so has the mean.
  const auto sent = std::make_shared<SentMessages>();
  Communicator communicator(std::make_unique<LoneRankTransport>(1, 4, sent));
  const ExecutionSpace exec;
  Phases phases;
  DenseMean dense(exec, communicator, 1024);
  const auto values = test::to_device(std::vector<float>(1024, 0.5F));
  const auto mean = dense(exec, phases, values);
  EXPECT_EQ(test::to_host(mean), std::vector<float>(1024, 0.5F));
  // 3 chunks of 256 to their owners, and the own one to 3 ranks.
  const Tally tally = sent->of(SentMessages::Kind::exchange);
  EXPECT_EQ(tally.messages, 6U);
  EXPECT_EQ(tally.bytes, 6U * 1024U);
  EXPECT_EQ(tally.longest_bytes, 1024U);
  EXPECT_EQ(communicator.bytes_sent().sent(Traffic::dense), tally.bytes);
}

/// Chunks of 128, 128, 44 and 0 elements: what a mirror with another chunk sends is zeros.
TEST(LoneRank, GetsZerosOfAnotherLength) {
  const auto mean_of_own_chunk = [](int rank) {
    Communicator communicator(std::make_unique<LoneRankTransport>(rank, 4, std::make_shared<SentMessages>()));
    const ExecutionSpace exec;
    Phases phases;
    DenseMean dense(exec, communicator, 300);
    const auto values = test::to_device(std::vector<float>(300, 1.0F));
    const std::vector<float> mean = test::to_host(dense(exec, phases, values));
    const ElementRange own = ChunkLayout(300, 4).chunk(rank);
    return std::vector<float>(mean.begin() + own.begin, mean.begin() + own.end);
  };
  EXPECT_EQ(mean_of_own_chunk(0), std::vector<float>(128, 0.5F)) << "its own and those of rank 1";
  EXPECT_EQ(mean_of_own_chunk(2), std::vector<float>(44, 0.25F)) << "its own alone";
  EXPECT_TRUE(mean_of_own_chunk(3).empty());
}

TEST(LoneRank, FormsTwoLevels) {
  const auto sent = std::make_shared<SentMessages>();
  Communicator communicator(std::make_unique<LoneRankTransport>(13, 24, sent, 4));
  communicator.form_levels(0);
  EXPECT_EQ(communicator.node().size(), 4);
  EXPECT_EQ(communicator.node().rank(), 1);
  EXPECT_EQ(communicator.across().size(), 6);
  EXPECT_EQ(communicator.across().rank(), 3);
  EXPECT_THROW(LoneRankTransport(0, 6, sent, 4), std::invalid_argument);
}

[[nodiscard]] bool sends_sparse_messages(const std::string& optimizer, std::int64_t d) {
  OptionMap options;
  const std::string& warmup = optimizer_traits(optimizer).warmup;
  if (!warmup.empty()) options[warmup] = std::int64_t{1};
  const AlgorithmCost cost = optimizer_cost(optimizer, options, d, Arrangement::flat(2));
  return std::any_of(cost.phases.begin(), cost.phases.end(), [](const StepPhase& phase) {
    return std::any_of(phase.exchanges.begin(), phase.exchanges.end(), [](const PlannedExchange& exchange) {
      return std::any_of(exchange.transfers.begin(), exchange.transfers.end(),
                         [](const Transfer& transfer) { return transfer.traffic == Traffic::sparse; });
    });
  });
}

/// A rank sends slices while it selects; to many ranks, fewer of them.
TEST(GrowthOfLongVectors, OfSparseMessagesIsThePlans) {
  constexpr std::int64_t d = std::int64_t{1} << 20U;
  int optimizers = 0;
  for (const std::string& name : optimizer_names()) {
    if (!sends_sparse_messages(name, d)) continue;
    ++optimizers;
    const GrowthResult of_two = measure_growth({name, d, 2, 1, 8, 1});
    const GrowthResult of_many = measure_growth({name, d, 512, 1, 8, 1});
    EXPECT_EQ(of_two.messages, of_two.planned_messages) << name;
    EXPECT_EQ(of_many.messages, of_many.planned_messages) << name;
    EXPECT_GT(of_two.messages, of_many.messages / 511) << name;
  }
  EXPECT_GT(optimizers, 0);
}

TEST(MessagesOfATransfer, ByHand) {
  const Transfer transfer{Pattern::all_to_all, Traffic::compressed, 450000};
  EXPECT_EQ(messages_of(transfer, 3, std::size_t{60} << 10U), 9U);
  EXPECT_EQ(messages_of(transfer, 1023, std::size_t{60} << 10U), 1023U);
  EXPECT_EQ(messages_of({Pattern::all_gather, Traffic::dense, 0}, 3, 1000), 0U);
  EXPECT_EQ(messages_of(transfer, 0, 1000), 0U);
  const Transfer in_slices{Pattern::all_gather, Traffic::sparse, 450000, true, 5};
  EXPECT_EQ(messages_of(in_slices, 3, std::size_t{60} << 10U), 15U);
  EXPECT_EQ(messages_of(in_slices, 3, 10000), 45U);
}

TEST(GrowthLines, HaveWhatWasCounted) {
  GrowthResult result;
  result.what = {"adam", 1000, 8, 2};
  result.bytes = 1500.0;
  result.kernel_seconds = 0.002;
  result.planned_kernel_bytes = 4e6;
  const auto line = nlohmann::json::parse(json_line_of(result));
  EXPECT_EQ(line["ranks"], 8);
  EXPECT_EQ(line["ranks_per_node"], 2);
  EXPECT_EQ(line["bytes"], 1500.0);
  const std::string row = growth_table_row(result);
  EXPECT_NE(row.find("1.5 "), std::string::npos) << row;
  EXPECT_NE(row.find("2.00     2.0\n"), std::string::npos) << row;
}

}  // namespace
}  // namespace kadam::bench::growth_test
