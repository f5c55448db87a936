// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctor/findings.hpp>

#include <gtest/gtest.h>

namespace kadam::doctor {
namespace {

/// Two nodes of two ranks, each with four cores of its own, two levels: nothing to say.
Findings healthy() {
  Findings findings;
  findings.seats = {{0, 4, 1, 4}, {0, 4, 2, 4}, {1, 4, 1, 4}, {1, 4, 2, 4}};
  findings.cores_on_node = 8;
  findings.two_levels = true;
  findings.threads_may_exchange = true;
  return findings;
}

/// The one sentence that there is.
void expect_advice(const Findings& findings, const std::string& words) {
  const std::vector<std::string> all = advice(findings);
  ASSERT_EQ(all.size(), 1U) << (all.empty() ? "none" : all.back());
  EXPECT_NE(all[0].find(words), std::string::npos) << all[0];
}

TEST(Advice, IsSilentWhereAllIsWell) {
  EXPECT_TRUE(advice(healthy()).empty());
  EXPECT_EQ(healthy().nodes(), 2);
}

TEST(Advice, FindsMoreThreadsThanCores) {
  Findings findings = healthy();
  findings.seats = {{0, 4, 7, 4}, {0, 4, 7, 4}, {1, 4, 1, 4}, {1, 4, 2, 4}};
  expect_advice(
      findings,
      "2 ranks with 8 threads in all share 4 cores: they wait for each other. Set OMP_NUM_THREADS to 2");
}

TEST(Advice, FindsRanksThatMayMove) {
  Findings findings = healthy();
  for (Seat& seat : findings.seats) seat = {seat.node, 8, 7, 4};
  expect_advice(findings, "--cpu-bind=cores");
  // Where cores are not known, nothing is said of them.
  for (Seat& seat : findings.seats) seat.cores = 0;
  EXPECT_TRUE(advice(findings).empty());
}

TEST(Advice, KnowsWhenThereIsNoNetwork) {
  Findings findings = healthy();
  for (Seat& seat : findings.seats) seat.node = 0;
  findings.seats.resize(2);
  expect_advice(findings, "dense adam");
  findings.seats.resize(1);
  expect_advice(findings, "mpirun -n RANKS");
  findings.has_mpi = false;
  expect_advice(findings, "KADAM_ENABLE_MPI=ON");
}

TEST(Advice, SpeaksOfLevelsThreadsAndStaging) {
  Findings findings = healthy();
  findings.two_levels = false;
  expect_advice(findings, "KADAM_RANKS_PER_NODE=auto");
  findings = healthy();
  findings.threads_may_exchange = false;
  expect_advice(findings, "MPI_THREAD_MULTIPLE");
  findings = healthy();
  findings.device = true;
  EXPECT_TRUE(advice(findings).empty());
  findings.staged = true;
  expect_advice(findings, "KADAM_GPU_AWARE=on");
  findings = healthy();
  findings.optimised = false;
  expect_advice(findings, "debug");
  findings = healthy();
  findings.parallel = false;
  expect_advice(findings, "Kokkos_ENABLE_OPENMP");
  findings = healthy();
  findings.blas_competes = true;
  expect_advice(findings, "OMP_WAIT_POLICY=passive");
  findings = healthy();
  findings.lacks_huge_pages = true;
  expect_advice(findings, "transparent_hugepage/enabled says never");
}

TEST(SelfTest, PassesOnOneRank) {
  const SelfTest test = run_self_test(Communicator::self());
  EXPECT_TRUE(test.passed()) << test.error;
  EXPECT_EQ(test.sent_bytes, 0U);
  SelfTest broken = test;
  broken.equal_on_all_ranks = false;
  EXPECT_FALSE(broken.passed());
}

}  // namespace
}  // namespace kadam::doctor
