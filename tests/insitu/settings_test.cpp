// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gray_scott/settings.hpp>
#include <io/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kadam::test {
namespace {

gray_scott::Settings settings_of(const std::string& toml, const std::vector<std::string>& assignments = {},
                                 const std::string& optimizer = "") {
  const TemporaryFolder folder;
  return gray_scott::read_settings(folder.write("run.toml", toml), assignments, optimizer);
}

std::string refusal_of(const std::string& toml, const std::vector<std::string>& assignments = {}) {
  try {
    static_cast<void>(settings_of(toml, assignments));
  } catch (const std::exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "not refused: " << toml;
  return "";
}

const char* const whole = R"([solver]
width = 40
feed = 0.03
[surrogate]
hidden = [8, 4]
[training]
jumps = 7
[optimizer]
name = "onebit_adam"
lr = 0.002
[optimizer.onebit_adam]
warmup_steps = 5
[optimizer.loco]
bits = 8
[[optimizer.groups]]
tensors = "*.bias"
dense = true
)";

TEST(Settings, AreReadFromAFile) {
  const gray_scott::Settings settings = settings_of(whole);
  EXPECT_EQ(settings.solver.width, 40);
  EXPECT_EQ(settings.solver.feed, 0.03);
  EXPECT_EQ(settings.solver.height, gray_scott::SolverOptions{}.height);
  EXPECT_EQ(settings.surrogate.hidden, (std::vector<std::int64_t>{8, 4}));
  EXPECT_EQ(settings.training.jumps, 7);
  EXPECT_EQ(settings.optimizer.name, "onebit_adam");
  EXPECT_EQ(settings.optimizer.options, (OptionMap{{"lr", 0.002}, {"warmup_steps", 5}}));
  ASSERT_EQ(settings.optimizer.groups.size(), 1U);
  EXPECT_EQ(settings.optimizer.groups[0].tensors, "*.bias");
  EXPECT_TRUE(settings.optimizer.groups[0].dense);
}

TEST(Settings, OfTheCommandLineCountMore) {
  const gray_scott::Settings settings =
      settings_of(whole,
                  {"solver.width=50", "optimizer.lr=[0.1, 0.2]", "surrogate.hidden=[]",
                   "optimizer.groups=[{tensors=\"layers.0*\", lr_scale=0.5}]"},
                  "loco");
  EXPECT_EQ(settings.solver.width, 50);
  EXPECT_TRUE(settings.surrogate.hidden.empty());
  EXPECT_EQ(settings.optimizer.name, "loco");
  EXPECT_EQ(settings.optimizer.options, (OptionMap{{"bits", 8}, {"lr", {0.1, 0.2}}}));
  ASSERT_EQ(settings.optimizer.groups.size(), 1U);
  EXPECT_EQ(settings.optimizer.groups[0].lr_scale, 0.5);
}

TEST(Settings, ReadBackAreTheSame) {
  const gray_scott::Settings settings = settings_of(whole, {"solver.feed=0.04"}, "loco");
  const gray_scott::Settings again = settings_of(settings.toml);
  EXPECT_EQ(again.toml, settings.toml);
  EXPECT_EQ(again.solver.feed, 0.04);
  EXPECT_EQ(again.optimizer.name, "loco");
  EXPECT_EQ(again.optimizer.options, settings.optimizer.options);
  EXPECT_EQ(again.optimizer.groups.size(), 1U);
}

TEST(Settings, RefuseWhatTheyDoNotKnow) {
  const auto expect_in = [](const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << "expected: " << part << "\ngot: " << text;
  };
  expect_in("has no option 'solver.wide': its options are solver.width", refusal_of("", {"solver.wide=3"}));
  expect_in("has no option 'data.kind'", refusal_of("[data]\nkind = \"idx\"\n"));
  expect_in("has no option 'solver'", refusal_of("solver = 3\n"));
  expect_in("'solver.width': expected a whole number", refusal_of("", {"solver.width=2.5"}));
  expect_in("there is no optimizer 'onebit'", refusal_of("", {"optimizer.onebit.lr=1"}));
  expect_in("'optimizer.loco.bitz': loco has no such option", refusal_of("", {"optimizer.loco.bitz=1"}));
  expect_in("expected section.key=value", refusal_of("", {"width"}));
  expect_in("'optimizer.groups': expected tables", refusal_of("", {"optimizer.groups=[1]"}));
  expect_in("'surrogate.radius': expected", refusal_of("", {"surrogate.radius=65"}));
  expect_in("'training.jumps': expected", refusal_of("", {"training.jumps=0"}));
  expect_in("is not stable", refusal_of("", {"solver.time_step=1.6"}));
  expect_in("run.toml: line 1", refusal_of("solver = \n"));
}

TEST(Settings, HaveLinesOfHelpThatFitATerminal) {
  const std::string help = gray_scott::key_help();
  EXPECT_NE(help.find("solver.feed"), std::string::npos);
  for (std::size_t at = 0; at < help.size();) {
    const std::size_t end = help.find('\n', at);
    EXPECT_LE(end - at, 120U) << help.substr(at, end - at);
    at = end + 1;
  }
}

}  // namespace
}  // namespace kadam::test
