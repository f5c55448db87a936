// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/settings.hpp>
#include <io/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kadam::test {
namespace {

insitu::Settings settings_of(const std::string& toml, const std::vector<std::string>& assignments = {},
                             const std::string& optimizer = "") {
  const TemporaryFolder folder;
  return insitu::read_settings(folder.write("run.toml", toml), assignments, optimizer);
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

OptionMap options_of(const insitu::Settings& settings) {
  return settings.optimizer.options_for(settings.optimizer.name);
}

const char* const whole = R"([solver]
width = 40
feed = 0.03
[surrogate]
hidden = [8, 4]
activation = "relu"
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
  const insitu::Settings settings = settings_of(whole);
  EXPECT_EQ(settings.solver.width, 40);
  EXPECT_EQ(settings.solver.feed, 0.03);
  EXPECT_EQ(settings.solver.height, insitu::GrayScottOptions{}.height);
  EXPECT_EQ(settings.surrogate.hidden, (std::vector<std::int64_t>{8, 4}));
  EXPECT_EQ(settings.surrogate.activation, "relu");
  EXPECT_EQ(settings.training.jumps, 7);
  EXPECT_EQ(settings.optimizer.name, "onebit_adam");
  EXPECT_EQ(options_of(settings), (OptionMap{{"lr", 0.002}, {"warmup_steps", 5}}));
  ASSERT_EQ(settings.optimizer.groups.size(), 1U);
  EXPECT_EQ(settings.optimizer.groups[0].tensors, "*.bias");
  EXPECT_TRUE(settings.optimizer.groups[0].dense);
}

TEST(Settings, OfTheCommandLineCountMore) {
  const insitu::Settings settings =
      settings_of(whole,
                  {"solver.width=50", "optimizer.lr=[0.1, 0.2]", "surrogate.hidden=[]",
                   "optimizer.groups=[{tensors=\"layers.0*\", lr_scale=0.5}]"},
                  "loco");
  EXPECT_EQ(settings.solver.width, 50);
  EXPECT_TRUE(settings.surrogate.hidden.empty());
  EXPECT_EQ(settings.optimizer.name, "loco");
  EXPECT_EQ(options_of(settings), (OptionMap{{"bits", 8}, {"lr", {0.1, 0.2}}}));
  ASSERT_EQ(settings.optimizer.groups.size(), 1U);
  EXPECT_EQ(settings.optimizer.groups[0].lr_scale, 0.5);
}

TEST(Settings, ReadBackAreTheSame) {
  const insitu::Settings settings = settings_of(whole);
  const std::string text = insitu::to_toml(settings, options_of(settings));
  const insitu::Settings again = settings_of(text);
  EXPECT_EQ(insitu::to_toml(again, options_of(again)), text);
  EXPECT_EQ(again.solver.feed, 0.03);
  EXPECT_EQ(again.optimizer.name, "onebit_adam");
  EXPECT_EQ(again.optimizer.groups.size(), 1U);
}

TEST(Settings, RefuseWhatTheyDoNotKnow) {
  const auto expect_in = [](const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << "expected: " << part << "\ngot: " << text;
  };
  expect_in("has no option 'solver.wide': its options are solver.width", refusal_of("", {"solver.wide=3"}));
  expect_in("'data.kind'", refusal_of("[data]\nkind = \"idx\"\n"));
  expect_in("'solver.width': expected a whole number", refusal_of("", {"solver.width=2.5"}));
  expect_in("there is no optimizer 'onebit'", refusal_of("", {"optimizer.onebit.lr=1"}));
  expect_in("expected section.key=value", refusal_of("", {"width"}));
  expect_in("'radius': expected 0 to 64", refusal_of("", {"surrogate.radius=65"}));
  expect_in("activation 'tanh' is not known", refusal_of("", {"surrogate.activation=tanh"}));
  expect_in("'jumps': expected 1 or more", refusal_of("", {"training.jumps=0"}));
  expect_in("is not stable", refusal_of("", {"solver.time_step=1.6"}));
  expect_in("run.toml: line 1", refusal_of("solver = \n"));
}

TEST(Settings, HaveLinesOfHelpThatFitATerminal) {
  const std::string help = insitu::key_help();
  EXPECT_NE(help.find("solver.feed"), std::string::npos);
  for (std::size_t at = 0; at < help.size();) {
    const std::size_t end = help.find('\n', at);
    EXPECT_LE(end - at, 120U) << help.substr(at, end - at);
    at = end + 1;
  }
}

}  // namespace
}  // namespace kadam::test
