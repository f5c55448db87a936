// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/progress.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace kadam::test {
namespace {

/// What a run of so many steps prints into a file, updated every so many steps.
std::string printed(std::int64_t steps, std::int64_t every, bool enabled = true) {
  testing::internal::CaptureStdout();
  launch::Progress progress("adam", steps, enabled);
  for (std::int64_t step = 1; step <= steps; ++step) {
    if (step % every == 0 || step == steps) progress.update(step, "words");
  }
  progress.finish();
  return testing::internal::GetCapturedStdout();
}

TEST(Progress, PrintsAtMostTenLinesIntoAFileAndTheLastStep) {
  for (const std::int64_t every : {1, 7, 10, 1000}) {
    const std::string text = printed(500, every);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    EXPECT_EQ(lines, every == 1000 ? 1 : 10) << text;
    EXPECT_NE(text.find("500/500  words"), std::string::npos) << text;
    EXPECT_EQ(text.find_first_of("\r\x1b"), std::string::npos);
  }
  EXPECT_NE(printed(1, 1).find("1/1"), std::string::npos);
  EXPECT_EQ(printed(500, 1, false), "");
}

}  // namespace
}  // namespace kadam::test
