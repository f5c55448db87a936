// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <plan/machine.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace kadam::plan {
namespace {

Network hundred_megabit() {
  Network network;
  network.latency_seconds = 100e-6;
  network.message_seconds = 10e-6;
  network.link_bytes_per_second = 12.5e6;
  return network;
}

TEST(TransferSeconds, OneRankPerHost) {
  // 100 us + 3 messages of 10 us + 1.25 MB at 12.5 MB/s, to owners as from them.
  for (const Pattern pattern : {Pattern::all_to_all, Pattern::all_gather}) {
    EXPECT_NEAR(transfer_seconds(hundred_megabit(), 4, {pattern, Traffic::dense, 1250000}), 0.10013, 1e-12);
  }
}

TEST(TransferSeconds, RanksOfAHostShareItsLink) {
  Network network = hundred_megabit();
  network.ranks_per_node = 4;
  network.node_bytes_per_second = 1e9;
  // 8 ranks on 2 hosts: 4 of 7 messages of each of 4 ranks leave: 4 x 4/7 x 1.4 MB = 3.2 MB in 0.256 s. What
  // owners send back goes directly to each rank as well, not once through the link as in a ring.
  for (const Pattern pattern : {Pattern::all_to_all, Pattern::all_gather}) {
    EXPECT_NEAR(transfer_seconds(network, 8, {pattern, Traffic::dense, 1400000}), 0.256 + 170e-6, 1e-12);
  }
}

TEST(TransferSeconds, BytesInsideAHostDoNotUseItsLink) {
  Network network = hundred_megabit();
  network.ranks_per_node = 4;
  network.node_bytes_per_second = 1e6;
  // 3 of 7 messages stay: 0.6 MB of each rank in 0.6 s, beside 0.256 s of the link.
  EXPECT_NEAR(transfer_seconds(network, 8, {Pattern::all_to_all, Traffic::dense, 1400000}), 0.6 + 170e-6,
              1e-12);
}

TEST(TransferSeconds, NumbersThatRanksAgreeOnGoByDoubling) {
  Network network = hundred_megabit();
  network.ranks_per_node = 4;
  network.node_bytes_per_second = 1e9;
  // 3 rounds of 110 us for 8 ranks, and 4 x 400 B through the link.
  EXPECT_NEAR(transfer_seconds(network, 8, {Pattern::all_gather, Traffic::control, 700}),
              3 * 110e-6 + 1600 / 12.5e6, 1e-12);
  EXPECT_NEAR(transfer_seconds(network, 8, {Pattern::all_to_all, Traffic::control, 700}),
              170e-6 + 1600 / 12.5e6, 1e-12);
}

TEST(MessageSeconds, AreThoseOfTheirNumber) {
  const Network network = hundred_megabit();  // 10 us a message
  EXPECT_NEAR(message_seconds(network, 8, {Pattern::all_to_all, Traffic::dense, 1400000}), 70e-6, 1e-12);
  EXPECT_NEAR(message_seconds(network, 8, {Pattern::all_gather, Traffic::control, 700}), 30e-6, 1e-12);
  EXPECT_NEAR(message_seconds(network, 8, {Pattern::all_gather, Traffic::sparse, 1400000, true, 5}), 350e-6,
              1e-12);
  EXPECT_EQ(message_seconds(network, 8, {Pattern::all_to_all, Traffic::dense, 0}), 0.0);
  EXPECT_EQ(message_seconds(network, 1, {Pattern::all_to_all, Traffic::dense, 1000}), 0.0);
}

TEST(TransferSeconds, InsideANodeTheLinkIsNotUsed) {
  Network network = hundred_megabit();
  network.ranks_per_node = 8;
  network.node_latency_seconds = 2e-6;
  network.node_bytes_per_second = 1e9;
  EXPECT_NEAR(transfer_seconds(network, 4, {Pattern::all_to_all, Traffic::dense, 3000000}),
              2e-6 + 30e-6 + 3e-3, 1e-12);
}

TEST(TransferSeconds, NothingIsSentByOneRank) {
  EXPECT_EQ(transfer_seconds(hundred_megabit(), 1, {Pattern::all_to_all, Traffic::dense, 1000}), 0.0);
  EXPECT_EQ(transfer_seconds(hundred_megabit(), 4, {Pattern::all_gather, Traffic::dense, 0}), 0.0);
}

TEST(TransferSeconds, GrowWithBytesAndRanksAndShrinkWithTheRate) {
  for (const Pattern pattern : {Pattern::all_to_all, Pattern::all_gather}) {
    for (const int per_node : {1, 4}) {
      Network network = hundred_megabit();
      network.ranks_per_node = per_node;
      network.node_bytes_per_second = 10e9;
      double before = 0.0;
      for (int n = 2; n <= 4096; n *= 2) {
        const double now = transfer_seconds(network, n, {pattern, Traffic::dense, 1000000});
        EXPECT_GE(now, before) << n;
        EXPECT_LT(now, transfer_seconds(network, n, {pattern, Traffic::dense, 2000000})) << n;
        Network faster = network;
        faster.link_bytes_per_second *= 2.0;
        EXPECT_GE(now, transfer_seconds(faster, n, {pattern, Traffic::dense, 1000000})) << n;
        before = now;
      }
    }
  }
}

TEST(Network, ARankHasItsShareOfTheLink) {
  Network network = hundred_megabit();
  network.ranks_per_node = 4;
  EXPECT_EQ(network.nodes(8), 2);
  EXPECT_EQ(network.nodes(9), 3);
  EXPECT_DOUBLE_EQ(network.between_nodes().link_bytes_per_second, 12.5e6 / 4);
  EXPECT_EQ(network.between_nodes().ranks_per_node, 1);
}

TEST(Network, RefusesImpossibleFiguresByName) {
  const auto words_of = [](auto change) {
    Network network = hundred_megabit();
    change(network);
    try {
      network.validate();
    } catch (const std::invalid_argument& refusal) {
      return std::string(refusal.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(words_of([](Network&) {}), "accepted");
  EXPECT_NE(words_of([](Network& n) { n.link_bytes_per_second = 0.0; }).find("rate of a host's link"),
            std::string::npos);
  EXPECT_NE(
      words_of([](Network& n) { n.latency_seconds = -1.0; }).find("latency: expected 0 seconds or more"),
      std::string::npos);
  EXPECT_NE(words_of([](Network& n) { n.ranks_per_node = 0; }).find("ranks per node"), std::string::npos);
  EXPECT_NE(words_of([](Network& n) { n.message_seconds = 0.0 / 0.0; }).find("per message"),
            std::string::npos);
  EXPECT_NE(words_of([](Network& n) { n.ranks_per_node = 2; }).find("rate inside a node"), std::string::npos)
      << "nothing stands in for it";
}

}  // namespace
}  // namespace kadam::plan
