// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <io/temporary_folder.hpp>
#include <launch/commands.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace kadam::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds long_enough{60'000};

bool shell(const std::string& command, milliseconds longest = long_enough) {
  return launch::run_quietly({"sh", "-c", command}, longest);
}

TEST(QuietProgram, SaysWhetherItCameToItsEnd) {
  EXPECT_TRUE(shell("exit 0"));
  EXPECT_FALSE(shell("exit 3"));
  EXPECT_FALSE(shell("kill -9 $$"));
  EXPECT_FALSE(launch::run_quietly({"no-such-program-of-kadam"}, long_enough));
}

TEST(QuietProgram, IsEndedWithAllThatItStarted) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "late";
  const auto begin = steady_clock::now();
  EXPECT_FALSE(shell("(sleep 1; touch '" + file.string() + "') & sleep 100", milliseconds(200)));
  EXPECT_LT(steady_clock::now() - begin, long_enough);
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_FALSE(std::filesystem::exists(file)) << "what it started went on";
}

TEST(QuietProgram, PrintsAndReadsNothing) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_TRUE(shell("echo words; echo more >&2; ! read line"));
  EXPECT_EQ(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(), "");
}

TEST(QuietProgram, IsNoRank) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    setenv(name, "1", 1);
    EXPECT_TRUE(shell(std::string("test -z \"$") + name + "\"")) << name;
    unsetenv(name);
  }
  setenv("KADAM_SOMETHING", "else", 1);
  EXPECT_TRUE(shell("test \"$KADAM_SOMETHING\" = else"));
  unsetenv("KADAM_SOMETHING");
}

}  // namespace
}  // namespace kadam::test
