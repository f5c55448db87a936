// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <train/run_statistics.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace kadam::test::run_statistics_test {
namespace {

using train::RunStatistics;
using train::StepRecord;

/// Loss 10 x step, 100 bytes, and seconds that tell the phases apart.
StepRecord record(std::int64_t step, const char* phase) {
  StepRecord result{step, phase, false, 10.0 * static_cast<double>(step), 0.5, {}, 100};
  const auto seconds = [&](Phase part) -> double& { return result.phases[static_cast<std::size_t>(part)]; };
  seconds(Phase::check) = 1;
  seconds(Phase::encode) = 2;
  seconds(Phase::exchange) = 4;
  seconds(Phase::decode) = 8;
  return result;
}

TEST(RunStatistics, MeansOverAWindowAndStartsTheNext) {
  RunStatistics statistics(10);
  statistics.add(record(1, "dense"));
  statistics.add(record(2, "dense"));
  const train::StepWindow window = statistics.take_window();
  EXPECT_EQ(window.steps, 2);
  EXPECT_DOUBLE_EQ(window.mean_loss(), 15.0);
  EXPECT_DOUBLE_EQ(window.mean_bytes(), 100.0);
  EXPECT_DOUBLE_EQ(window.mean_seconds().compute, 0.5);
  EXPECT_DOUBLE_EQ(window.mean_seconds().encode, 2.0);
  EXPECT_DOUBLE_EQ(window.mean_seconds().exchange, 5.0);  // with the agreement on the gradient
  EXPECT_DOUBLE_EQ(window.mean_seconds().decode, 8.0);
  EXPECT_DOUBLE_EQ(window.mean_seconds().total(), 15.5);
  EXPECT_EQ(statistics.take_window().steps, 0);
  EXPECT_EQ(statistics.whole_run().steps, 2);
}

TEST(RunStatistics, KnowsTheSecondsOfTimedStepsAlone) {
  RunStatistics statistics(10);
  StepRecord untimed = record(1, "dense");
  untimed.is_timed = false;
  statistics.add(untimed);
  EXPECT_EQ(statistics.whole_run().mean_seconds().total(), 0.0);
  statistics.add(record(2, "dense"));
  const train::StepWindow window = statistics.take_window();
  EXPECT_DOUBLE_EQ(window.mean_loss(), 15.0);
  EXPECT_DOUBLE_EQ(window.mean_seconds().encode, 2.0);
  EXPECT_DOUBLE_EQ(window.mean_seconds().total(), 15.5);
}

TEST(RunStatistics, CallsRestWhatNoPhaseHas) {
  RunStatistics statistics(10);
  StepRecord slow = record(1, "dense");
  slow.step_seconds = 19.5;  // 0.5 of compute, 1 + 2 + 4 + 8 of phases
  statistics.add(slow);
  const train::StepSeconds seconds = statistics.take_window().mean_seconds();
  EXPECT_DOUBLE_EQ(seconds.rest, 4.0);
  EXPECT_DOUBLE_EQ(seconds.wait, 1.0);
  EXPECT_DOUBLE_EQ(seconds.total(), slow.step_seconds);
}

TEST(RunStatistics, ReadsTheTextsThatItWrites) {
  train::StepWindow window;
  window.add(record(1, "dense"));
  window.seconds.rest = 0.1;
  train::StepWindow read;
  ASSERT_TRUE(read.from_text(window.to_text()));
  EXPECT_EQ(read.to_text(), window.to_text());
  EXPECT_EQ(read.seconds.rest, 0.1);
  ASSERT_TRUE(read.from_text("2 1 1 1 1 1 100 10 1 1 1"));
  EXPECT_EQ(read.timed_steps, 1);
  ASSERT_TRUE(read.from_text("2 1 1 1 1 1 100 10 1 1")) << "of a time when all steps were timed";
  EXPECT_EQ(read.timed_steps, 2);
  EXPECT_EQ(read.losses, 2);
  ASSERT_TRUE(read.from_text("2 1 1 1 1 1 100 10 1 1 1 0"));
  EXPECT_EQ(read.losses, 0);
  for (const char* text :
       {"", "2 0x1p+1", "2 1 1 1 1 1 100 10", "2 1 1 1 1 1 100 10 1", "2 1 1 1 1 1 100 10 1 1 3",
        "2 1 1 1 1 1 100 10 1 1 1 1 1", "2 1 1 1 1 1 100 10 1 1 1 3", "2 1 1 1 1 1 100 10 1 1x"})
    EXPECT_FALSE(read.from_text(text)) << text;
}

/// A rank that skips a step alone has no loss of it, though the step counts.
TEST(RunStatistics, LeavesOutALossThatIsNotFinite) {
  RunStatistics statistics(10);
  train::StepRecord alone = record(1, "local");
  alone.loss = std::nan("");
  statistics.add(alone);
  statistics.add(record(2, "local"));
  const train::StepWindow window = statistics.take_window();
  EXPECT_EQ(window.steps, 2);
  EXPECT_EQ(window.losses, 1);
  EXPECT_DOUBLE_EQ(window.mean_loss(), 20.0);
}

TEST(RunStatistics, HasNoMeanWithoutSteps) {
  const train::StepWindow window;
  EXPECT_TRUE(std::isnan(window.mean_loss()));
  EXPECT_EQ(window.mean_bytes(), 0.0);
  EXPECT_EQ(window.mean_seconds().total(), 0.0);
}

TEST(RunStatistics, StartsAnewWithEachPhase) {
  RunStatistics statistics(10);
  EXPECT_EQ(statistics.phase(), "");
  for (std::int64_t step = 1; step <= 4; ++step) statistics.add(record(step, "warm-up"));
  for (std::int64_t step = 5; step <= 6; ++step) statistics.add(record(step, "compressed"));
  EXPECT_EQ(statistics.phase(), "compressed");
  EXPECT_EQ(statistics.last_phase().steps, 2);
  EXPECT_DOUBLE_EQ(statistics.last_phase().mean_loss(), 55.0);
  EXPECT_EQ(statistics.whole_run().steps, 6);
}

TEST(RunStatistics, CountsOnlyTheBytesOfSkippedSteps) {
  RunStatistics statistics(3);
  statistics.add(record(1, "compressed"));
  StepRecord skipped = record(2, "dense");
  skipped.skipped = true;
  skipped.loss = std::nan("");
  skipped.bytes = 8;
  statistics.add(skipped);
  statistics.add(record(3, "compressed"));
  EXPECT_EQ(statistics.phase(), "compressed");
  EXPECT_EQ(statistics.last_phase().steps, 2);
  EXPECT_DOUBLE_EQ(statistics.last_phase().mean_bytes(), 100.0);
  EXPECT_DOUBLE_EQ(statistics.take_window().mean_loss(), 20.0);
  EXPECT_EQ(statistics.bytes_sent(), 208U);
}

TEST(RunStatistics, LooksAtTheLastTenth) {
  for (const auto& [steps, late] : {std::pair{1, 1}, {9, 1}, {10, 1}, {20, 2}, {105, 10}}) {
    RunStatistics statistics(steps);
    for (std::int64_t step = 1; step <= steps; ++step) statistics.add(record(step, "dense"));
    EXPECT_EQ(statistics.late().steps, late) << steps;
    EXPECT_DOUBLE_EQ(statistics.late().mean_loss(), 10.0 * (steps - 0.5 * (late - 1))) << steps;
  }
}

}  // namespace
}  // namespace kadam::test::run_statistics_test
