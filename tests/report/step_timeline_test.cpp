// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <io/temporary_folder.hpp>
#include <report/read_trace.hpp>

#include <gtest/gtest.h>

namespace kadam::test {
namespace {

using report::Activity;
using report::Span;
using report::Spans;

std::vector<std::pair<double, double>> pairs_of(const Spans& spans) {
  std::vector<std::pair<double, double>> pairs;
  for (const Span& span : spans) pairs.emplace_back(span.begin, span.end);
  return pairs;
}

TEST(Spans, AreJoinedWhereTheyMeet) {
  using Pairs = std::vector<std::pair<double, double>>;
  const Spans spans = {{5.0, 6.0}, {1.0, 2.0}, {2.0, 3.0}, {1.0, 1.5}, {6.5, 7.0}};
  EXPECT_EQ(pairs_of(report::joined(spans)), (Pairs{{1.0, 3.0}, {5.0, 6.0}, {6.5, 7.0}}));
  EXPECT_EQ(pairs_of(report::joined(spans, 0.5)), (Pairs{{1.0, 3.0}, {5.0, 7.0}}));
  EXPECT_TRUE(report::joined({}).empty());
}

TEST(Spans, HaveLengthsAlsoInCommon) {
  const Spans one = {{0.0, 2.0}, {3.0, 6.0}};
  const Spans other = {{1.0, 4.0}, {5.0, 5.5}, {9.0, 10.0}};
  EXPECT_EQ(report::length_of(one), 5.0);
  EXPECT_EQ(report::common_length(one, other), 1.0 + 1.0 + 0.5);
  EXPECT_EQ(report::common_length(other, one), 2.5);
  EXPECT_EQ(report::common_length(one, {}), 0.0);
}

const char* const trace =
    R"({"traceEvents":[{"name":"process_labels","ph":"M","pid":0,"args":{"labels":"clock +- 5 us","dur":7}},)"
    R"({"name":"kadam-train::gradient","ph":"X","pid":0,"tid":0,"ts":1000,"dur":600},)"
    R"({"args":{"bytes":9,"ts":3},"name":"receive","ph":"X","pid":0,"tid":3,"ts":900,"dur":300},)"
    R"({"name":"kadam-train::step","ph":"X","pid":0,"tid":0,"ts":1000,"dur":2e3}],)"
    R"("other":[{"name":"kadam-train::step","ph":"X","pid":0,"ts":9000,"dur":1}]})";

TEST(ReadTrace, TakesWhatIsInTheStep) {
  const TemporaryFolder folder;
  folder.write("trace.json", trace);
  report::Run run;
  run.folder = folder.path();
  report::read_trace(run);
  ASSERT_TRUE(run.timeline) << run.remarks.front();
  EXPECT_EQ(run.timeline->steps, 1U);
  EXPECT_NEAR(run.timeline->end, 2e-3, 1e-12);
  ASSERT_EQ(run.timeline->ranks.size(), 1U);
  const report::RankTimeline& rank = run.timeline->ranks.front();
  EXPECT_NEAR(rank.clock_error, 5e-6, 1e-12);
  EXPECT_NEAR(report::length_of(rank.of(Activity::compute)), 6e-4, 1e-12);
  // What was before the step is cut off; a message without its exchange is one.
  EXPECT_NEAR(report::length_of(rank.of(Activity::background_message)), 2e-4, 1e-12);
  EXPECT_NEAR(report::length_of(rank.of(Activity::background)), 2e-4, 1e-12);
}

TEST(ReadTrace, SurvivesWhateverItSays) {
  const TemporaryFolder folder;
  int taken = 0;
  int refused = 0;
  expect_survives_changed_bytes(folder, "trace.json", trace, [&](const auto&) {
    report::Run run;
    run.folder = folder.path();
    report::read_trace(run);
    EXPECT_NE(run.timeline.has_value(), !run.remarks.empty());
    ++(run.timeline ? taken : refused);
  });
  EXPECT_GT(taken, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace kadam::test
