// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <plan/prediction.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace kadam::plan {
namespace {

/// Compute 100 ms, then kernels and exposed seconds in ms.
Candidate candidate(const char* name, bool dense, double kernels, double exposed, int ranks = 8) {
  Prediction prediction;
  prediction.ranks = ranks;
  prediction.step = {0.1, 1e-3 * kernels, 1e-3 * exposed, 1e-3 * exposed};
  return {name, dense, prediction};
}

Network two_per_node() {
  Network network;
  network.link_bytes_per_second = 1e9;
  network.ranks_per_node = 2;
  return network;
}

TEST(Verdict, CompressesWhereDenseWaitsLongEnough) {
  // 100 ms exposed against 1.5 x (20 + 10); 130 of 230 ms are left.
  const std::vector<Candidate> all = {
      candidate("slow dense", true, 30, 200), candidate("dense", true, 30, 100),
      candidate("compressed", false, 20, 10), candidate("less so", false, 20, 20)};
  const Verdict verdict = judge(all, two_per_node());
  EXPECT_EQ(verdict.best, "compressed");
  EXPECT_TRUE(verdict.compresses);
  EXPECT_DOUBLE_EQ(verdict.speedup, 230.0 / 130.0);
}

/// Only of what pays, in the order of the candidates; the baseline in bf16 has the traits of the baseline.
TEST(Verdict, LeadsToWhatSuitsAndPays) {
  std::vector<Candidate> all = {candidate("dense", true, 30, 100), candidate("fastest", false, 10, 10),
                                candidate("for these", false, 20, 10), candidate("for those", false, 20, 20),
                                candidate("too slow", false, 60, 60)};
  all[2].suits = "data are alike";
  all[3].suits = "they differ";
  all[4].suits = "nobody waits";
  const Verdict verdict = judge(all, two_per_node());
  EXPECT_EQ(verdict.best, "fastest");
  ASSERT_EQ(verdict.leads.size(), 2U);
  EXPECT_EQ(verdict.leads[0].name, "for these");
  EXPECT_EQ(verdict.leads[0].suits, "data are alike");
  EXPECT_DOUBLE_EQ(verdict.leads[0].speedup, 230.0 / 130.0);
  EXPECT_EQ(verdict.leads[1].name, "for those");
}

TEST(Verdict, SaysDenseWithinTheMargin) {
  // Shorter by 10 ms, but 40 ms exposed are less than 1.5 x (20 + 10).
  const std::vector<Candidate> all = {candidate("dense", true, 0, 40),
                                      candidate("compressed", false, 20, 10)};
  const Verdict verdict = judge(all, two_per_node());
  EXPECT_EQ(verdict.best, "dense");
  EXPECT_FALSE(verdict.compresses);
  EXPECT_NE(verdict.reason.find("less than 1.5 times"), std::string::npos);
}

TEST(Verdict, SaysDenseWhereTheExchangeIsHidden) {
  const std::vector<Candidate> all = {candidate("dense", true, 30, 0), candidate("compressed", false, 20, 0)};
  EXPECT_EQ(judge(all, two_per_node()).best, "dense");
  EXPECT_NE(judge(all, two_per_node()).reason.find("hides behind the backward pass"), std::string::npos);
}

TEST(Verdict, SaysDenseOnOneNode) {
  const std::vector<Candidate> all = {candidate("dense", true, 30, 1000, 2),
                                      candidate("compressed", false, 20, 10, 2)};
  const Verdict verdict = judge(all, two_per_node());
  EXPECT_EQ(verdict.best, "dense");
  EXPECT_NE(verdict.reason.find("one node"), std::string::npos);
}

TEST(Verdict, RecommendsNothingThatDoesNotFit) {
  std::vector<Candidate> all = {candidate("dense", true, 30, 100), candidate("slow dense", true, 30, 200),
                                candidate("compressed", false, 20, 10), candidate("less so", false, 20, 20)};
  all[2].suits = "anything";
  all[2].fits = false;
  EXPECT_EQ(judge(all, two_per_node()).best, "less so");
  EXPECT_TRUE(judge(all, two_per_node()).leads.empty());
  // The dense one to beat is one that can run.
  all[0].fits = false;
  EXPECT_DOUBLE_EQ(judge(all, two_per_node()).speedup, 330.0 / 140.0);
  all[1].fits = false;
  const Verdict none = judge(all, two_per_node());
  EXPECT_EQ(none.best, "less so");
  EXPECT_TRUE(none.alone_fits && none.compresses);
  EXPECT_NE(none.reason.find("no dense optimizer fits"), std::string::npos) << none.reason;
  all[3].fits = false;
  EXPECT_EQ(judge(all, two_per_node()).best, "compressed") << "if nothing fits, the steps alone count";
  EXPECT_FALSE(judge(all, two_per_node()).alone_fits);
}

TEST(Verdict, NeedsADenseOne) {
  const std::vector<Candidate> all = {candidate("compressed", false, 20, 10)};
  EXPECT_THROW((void)judge(all, two_per_node()), std::invalid_argument);
}

}  // namespace
}  // namespace kadam::plan
