// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <io/temporary_folder.hpp>
#include <report/read_runs.hpp>

#include <gtest/gtest.h>

namespace kadam::test {
namespace {

using report::number_of;
using Recorded = report::Run;

const char* const lines =
    "{\"step\":10,\"loss\":2.5,\"bytes_per_step\":100}\n"
    "{\"step\":20,\"loss\":null,\"warning_error_ratio\":\"too much\"}\n"
    "{\"step\":20,\"held_out_loss\":1.5}\n"
    "{\"step\":30,\"lo";

class Reading : public ::testing::Test {
 protected:
  std::filesystem::path make_run(const std::string& name, const std::string& metrics = lines) const {
    std::filesystem::create_directories(folder.path() / name);
    folder.write(name + "/metrics.jsonl", metrics);
    return folder.path() / name;
  }
  TemporaryFolder folder;
};

TEST_F(Reading, TakesWholeLinesAndSaysWhatIsMissing) {
  const std::vector<Recorded> runs = report::read_runs({make_run("adam")});
  ASSERT_EQ(runs.size(), 1U);
  const Recorded& run = runs.front();
  EXPECT_EQ(run.optimizer, "adam");  // the folder's name, for want of better
  ASSERT_EQ(run.training.size(), 2U);
  EXPECT_EQ(number_of(run.training[0].numbers, "loss"), 2.5);
  EXPECT_FALSE(number_of(run.training[1].numbers, "loss"));
  ASSERT_EQ(run.evaluations.size(), 1U);
  ASSERT_EQ(run.cautions.size(), 1U);
  EXPECT_EQ(run.cautions[0].text, "too much");
  EXPECT_FALSE(run.is_finished());
  std::string remarks;
  for (const std::string& remark : run.remarks) remarks += remark;
  for (const char* words : {"1 line of metrics.jsonl", "no config.toml", "no run.json", "no result"})
    EXPECT_NE(remarks.find(words), std::string::npos) << words << " not in " << remarks;
}

TEST_F(Reading, TakesTheNameFromRecordOrConfiguration) {
  const auto path = make_run("a");
  folder.write("a/config.toml", "[training]\nsteps = 3\n\n[optimizer]\nname = \"lamb\"\nlr = 1\n");
  EXPECT_EQ(report::read_runs({path}).front().optimizer, "lamb");
  folder.write("a/run.json",
               R"({"optimizer": "loco", "result": {"training_loss": 1.5, "held_out_loss": null}})");
  const Recorded run = report::read_runs({path}).front();
  EXPECT_EQ(run.optimizer, "loco");
  EXPECT_TRUE(run.is_finished());
  EXPECT_FALSE(number_of(run.result, "held_out_loss"));
}

TEST_F(Reading, KeepsTheOrderOfAComparison) {
  make_run("c/adam");
  make_run("c/lamb");
  make_run("c/another");
  folder.write("c/comparison.json",
               R"([{"optimizer": "lamb", "training_loss": 0.5}, {"optimizer": "adam"}])");
  const std::vector<Recorded> runs = report::read_runs({folder.path() / "c"});
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].label, "lamb");
  EXPECT_EQ(number_of(runs[0].result, "training_loss"), 0.5);
  EXPECT_EQ(runs[1].label, "adam");
  EXPECT_EQ(runs[2].label, "another");
}

TEST_F(Reading, TellsRunsOfOneOptimizerApart) {
  make_run("monday/adam");
  make_run("tuesday/adam");
  make_run("x/tuesday/adam");
  const auto path = folder.path();
  const std::vector<Recorded> two = report::read_runs({path / "monday", path / "tuesday"});
  EXPECT_EQ(two[0].label, "adam (monday)");
  EXPECT_EQ(two[1].label, "adam (tuesday)");
  const std::vector<Recorded> three =
      report::read_runs({path / "monday", path / "tuesday", path / "x" / "tuesday"});
  EXPECT_EQ(three[0].label, "adam (monday)");
  EXPECT_NE(three[1].label, three[2].label);
}

TEST_F(Reading, SurvivesWhateverARecordSays) {
  const auto path = make_run("a");
  const std::string record =
      R"({"optimizer":"adam","parameters":3,"steps":1e300,"starts":[{"ranks":-1,"time":"x","command":["a",1]}],)"
      R"("result":{"steps":9}})";
  expect_survives_changed_bytes(folder, "a/run.json", record,
                                [&](const auto&) { (void)report::read_runs({path}); });
  expect_survives_changed_bytes(folder, "a/metrics.jsonl", lines,
                                [&](const auto&) { (void)report::read_runs({path}); });
}

}  // namespace
}  // namespace kadam::test
