// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <io/temporary_folder.hpp>
#include <train/run_record.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <sstream>

namespace kadam::test::comparison_test {
namespace {

std::vector<train::RunSummary> two_runs() {
  train::RunSummary dense;
  dense.algorithm = "adam";
  dense.training_loss = 0.25;
  dense.held_out_loss = 0.5;
  dense.accuracy = 0.875;
  dense.bytes_per_step = dense.mean_bytes_per_step = dense.dense_bytes_per_step = 6e6;
  dense.seconds = {0.001, 0.0, 0.002, 0.003, 0.004, 0.0005};
  dense.wall_seconds = 7;
  dense.steps = 100;
  train::RunSummary few = dense;
  few.algorithm = "an_optimizer_with_a_long_name";
  few.bytes_per_step = 2e5;
  few.mean_bytes_per_step = 1.5e6;
  few.training_loss = few.held_out_loss = few.accuracy = std::nan("");
  few.skipped_steps = 3;
  return {dense, few};
}

TEST(Comparison, TableAlignsItsColumns) {
  std::istringstream lines(train::comparison_table(two_runs()));
  std::vector<std::string> rows(4);
  for (std::string& row : rows) std::getline(lines, row);
  for (const std::string& row : rows) EXPECT_EQ(row.size(), rows.front().size()) << row;
}

TEST(Comparison, TableSaysHowMuchLessThanDense) {
  const std::string text = train::comparison_table(two_runs());
  EXPECT_NE(text.find("87.50 %   6.00 MB    1.0x"), std::string::npos) << text;
  EXPECT_NE(text.find("200.0 kB   30.0x     4.0x"), std::string::npos) << text;
}

TEST(Comparison, TableHasADashForWhatIsNotKnown) {
  const std::string text = train::comparison_table(two_runs());
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_NE(text.find("an_optimizer_with_a_long_name        -        -        -"), std::string::npos) << text;
  std::vector<train::RunSummary> alone(1);
  EXPECT_NE(train::comparison_table(alone).find(" 0 B       -        -"), std::string::npos);
}

TEST(Comparison, TableSaysWhatWasSkipped) {
  const std::string text = train::comparison_table(two_runs());
  EXPECT_NE(text.find("\nan_optimizer_with_a_long_name: 3 of 100 steps were skipped"), std::string::npos);
  EXPECT_EQ(text.find("adam: 0 of"), std::string::npos);
}

TEST(Comparison, FileHoldsEveryFigure) {
  const TemporaryFolder folder;
  train::write_comparison_json(folder.path() / "c.json", two_runs());
  const auto list = nlohmann::json::parse(folder.read("c.json"));
  ASSERT_EQ(list.size(), 2U);
  const nlohmann::json expected = {{"optimizer", "adam"},        {"training_loss", 0.25},
                                   {"held_out_loss", 0.5},       {"held_out_accuracy", 0.875},
                                   {"bytes_per_step", 6e6},      {"background_bytes_per_step", 0.0},
                                   {"mean_bytes_per_step", 6e6}, {"dense_bytes_per_step", 6e6},
                                   {"compute_seconds", .001},    {"encode_seconds", 0.0},
                                   {"exchange_seconds", 0.002},  {"decode_seconds", 0.003},
                                   {"rest_seconds", 0.004},      {"wait_seconds", 0.0005},
                                   {"wall_seconds", 7.0},        {"steps", 100},
                                   {"skipped_steps", 0}};
  EXPECT_EQ(list[0], expected) << list[0];
  EXPECT_TRUE(list[1]["training_loss"].is_null());
}

TEST(Comparison, NamesTheFileThatCannotBeWritten) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "none" / "c.json";
  EXPECT_NE(error_of([&] { train::write_comparison_json(path, {}); }).find("none/c.json: cannot be written"),
            std::string::npos);
}

}  // namespace
}  // namespace kadam::test::comparison_test
