// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_results.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <sstream>

namespace kadam::bench::results_test {
namespace {

TEST(Timing, IsTheMedianAndTheDistanceOfTheQuartiles) {
  const Timing odd = Timing::of({5.0, 1.0, 3.0, 2.0, 4.0});
  EXPECT_DOUBLE_EQ(odd.median, 3.0);
  EXPECT_DOUBLE_EQ(odd.spread, (4.0 - 2.0) / 3.0);
  const Timing even = Timing::of({2.0, 1.0});
  EXPECT_DOUBLE_EQ(even.median, 1.5);
  EXPECT_DOUBLE_EQ(Timing::of({7.0}).spread, 0.0);
}

TEST(KernelResults, AreComparedWithTheLimitOfTheirKind) {
  // 8 bytes in 1 s is the limit of updates, 4 bytes in 0.25 s that of reads, per element.
  const std::vector<KernelCase> cases = {
      {update_limit_kernel, 8.0, 100, Limit::update, {}}, {read_limit_kernel, 4.0, 100, Limit::read, {}},
      {"adam_update", 28.0, 100, Limit::update, {}},      {"a norm", 4.0, 50, Limit::read, {}},
      {"a small step", 0.0, 10, Limit::none, {}},         {"lamb_update", 40.0, 100, Limit::update, {}}};
  const std::vector<Timing> timings = {{1.0, 0.0}, {0.25, 0.0}, {7.0, 0.1},
                                       {0.5, 0.0}, {1e-5, 0.0}, {10.5, 0.0}};
  const auto results = results_of(cases, timings);
  EXPECT_DOUBLE_EQ(results[0].ratio_to_limit.value(), 1.0);
  EXPECT_DOUBLE_EQ(results[2].ratio_to_limit.value(), 0.5);
  EXPECT_DOUBLE_EQ(results[3].ratio_to_limit.value(), 0.25);
  EXPECT_FALSE(results[4].ratio_to_limit.has_value());

  const std::string table = table_of(results);
  EXPECT_NE(table.find("lamb_update takes 1.50 times as long as adam_update"), std::string::npos) << table;
  EXPECT_EQ(table.find("top-k"), std::string::npos) << "compared with what was not measured";

  std::istringstream lines(json_lines_of(results));
  std::string line;
  std::vector<nlohmann::json> objects;
  while (std::getline(lines, line)) objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), cases.size());
  EXPECT_EQ(objects[2]["kernel"], "adam_update");
  EXPECT_DOUBLE_EQ(objects[2]["milliseconds"], 7000.0);
  EXPECT_DOUBLE_EQ(objects[2]["ratio_to_limit"], 0.5);
  EXPECT_TRUE(objects[4]["ratio_to_limit"].is_null());
  EXPECT_FALSE(objects[2].contains("compared_with"));
  EXPECT_EQ(objects[5]["compared_with"], "adam_update");
}

TEST(KernelResults, OfADeviceAreComparedWithTheDeepCopy) {
  // 8 bytes in 0.5 s are the limit of updates and of reads.
  const std::vector<KernelCase> cases = {{update_limit_kernel, 8.0, 100, Limit::update, {}},
                                         {read_limit_kernel, 4.0, 100, Limit::read, {}},
                                         {device_limit_kernel, 8.0, 100, Limit::update, {}},
                                         {"a norm", 4.0, 100, Limit::read, {}}};
  const auto results = results_of(cases, {{1.0, 0.0}, {0.5, 0.0}, {0.5, 0.0}, {0.25, 0.0}});
  EXPECT_DOUBLE_EQ(results[0].ratio_to_limit.value(), 0.5);
  EXPECT_DOUBLE_EQ(results[1].ratio_to_limit.value(), 0.5);
  EXPECT_DOUBLE_EQ(results[2].ratio_to_limit.value(), 1.0);
  EXPECT_DOUBLE_EQ(results[3].ratio_to_limit.value(), 1.0);
}

TEST(KernelResults, AreOfGroupsThatTakeLongEnough) {
  EXPECT_EQ(runs_in_group(2.0 * shortest_group_seconds), 1);
  EXPECT_EQ(runs_in_group(shortest_group_seconds / 4.0), 4);
  EXPECT_EQ(runs_in_group(shortest_group_seconds / 3.5), 4);
  EXPECT_EQ(runs_in_group(0.0), static_cast<int>(std::ceil(shortest_group_seconds * 1e7)));
}

}  // namespace
}  // namespace kadam::bench::results_test
