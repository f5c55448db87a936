// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/spare_core.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace kadam {
namespace {

std::vector<int> cores(int first, int count) {
  std::vector<int> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), first);
  return list;
}

TEST(SpareCore, RanksThatShareANodeTakeOneEachFromTheEnd) {
  EXPECT_EQ(spare_core({cores(0, 8), 8, 3, 2, 0}), 7);
  EXPECT_EQ(spare_core({cores(0, 8), 8, 3, 2, 1}), 6);
}

TEST(SpareCore, ThereIsNoneWhereEveryCoreComputes) {
  EXPECT_EQ(spare_core({cores(0, 8), 8, 4, 2, 0}), std::nullopt);
  EXPECT_EQ(spare_core({cores(0, 2), 2, 1, 4, 3}), std::nullopt);
  EXPECT_EQ(spare_core({cores(0, 2), 2, 2, 1, 0}), std::nullopt);
  EXPECT_EQ(spare_core({{}, 8, 1, 1, 0}), std::nullopt);  // the system does not say
}

TEST(SpareCore, ARankWithCoresOfItsOwnTakesItsLast) {
  EXPECT_EQ(spare_core({cores(4, 4), 8, 3, 2, 1}), 7);
  EXPECT_EQ(spare_core({cores(4, 4), 8, 4, 2, 1}), std::nullopt);
  EXPECT_EQ(spare_core({cores(0, 2), 2, 1, 1, 0}), 1);
}

TEST(SpareCore, AThreadStaysWhereItIsBound) {
  std::thread([] {
    const std::vector<int> before = cores_of_this_thread();
    if (before.empty()) GTEST_SKIP() << "this system does not tell a thread's cores";
    bind_this_thread(before.back());
    EXPECT_EQ(cores_of_this_thread(), std::vector<int>{before.back()});
  }).join();
}

}  // namespace
}  // namespace kadam
