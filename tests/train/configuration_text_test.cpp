// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>
#include <train/configuration_fixture.hpp>

namespace kadam::test::configuration_text_test {
namespace {

const std::string full = R"(
[data]
path = "a \"quoted\" \\ path\tand a tab"
held_out_fraction = 0.1
[model]
hidden = []
[training]
seed = 9007199254740993
[optimizer]
name = "onebit_adam"
lr = 0.1234567890123456789
eps = 1e-8
bias_correction = false
[optimizer.onebit_adam]
warmup_steps = "auto"
[optimizer.lamb]
trust_max = 1e300
[[optimizer.groups]]
tensors = "*.bias"
lr_scale = 0.3
[[optimizer.groups]]
tensors = "*"
weight_decay = 0
dense = true
)";

void expect_equal_groups(const std::vector<ParameterGroup>& got,
                         const std::vector<ParameterGroup>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    EXPECT_EQ(got[k].tensors, expected[k].tensors);
    EXPECT_EQ(got[k].lr_scale, expected[k].lr_scale);
    EXPECT_EQ(got[k].weight_decay, expected[k].weight_decay);
    EXPECT_EQ(got[k].dense, expected[k].dense);
  }
}

OptionMap general_of(train::Configuration configuration) {
  OptionFields fields;
  configuration.describe(fields);
  return fields.show();
}

/// Numbers are compared as text: a file does not say whether 3 is whole.
std::string options_text(const train::Configuration& configuration) {
  std::string text;
  for (const std::string& name : optimizer_names()) {
    for (const auto& [option, value] : configuration.optimizer.options_for(name)) {
      text += name + "." + option + "=" + to_text(value) + "\n";
    }
  }
  return text;
}

TEST(ToToml, ReadsBackAsTheSameConfiguration) {
  const train::Configuration configuration = configuration_of(full);
  const std::string text = train::to_toml(configuration);
  const train::Configuration back = configuration_of(text);
  EXPECT_EQ(general_of(back), general_of(configuration)) << text;
  EXPECT_EQ(back.optimizer.name, "onebit_adam");
  EXPECT_EQ(options_text(back), options_text(configuration)) << text;
  expect_equal_groups(back.optimizer.groups, configuration.optimizer.groups);
  EXPECT_EQ(train::to_toml(back), text);
}

TEST(ToToml, OfARunHoldsTheResolvedOptionsOfItsAlgorithm) {
  const train::Configuration configuration = configuration_of(full);
  const OptionMap resolved = {{"lr", 0.1}, {"bits", 1}, {"beta1", 0.9}};
  const std::string text = train::to_toml(configuration, "apmsqueeze", resolved);
  const train::Configuration back = configuration_of(text);
  EXPECT_EQ(back.optimizer.name, "apmsqueeze");
  EXPECT_EQ(back.optimizer.options_for("apmsqueeze"), resolved);
  EXPECT_TRUE(back.optimizer.algorithm_options.empty());
  expect_equal_groups(back.optimizer.groups, configuration.optimizer.groups);
  expect_in("beta1 = 0.9\n", text);
}

TEST(ToToml, ReadsBackTheDefaultsOfEveryAlgorithm) {
  for (const std::string& name : optimizer_names()) {
    OptionMap defaults;
    for (const OptionHelp& option : optimizer_options(name)) defaults[option.name] = option.value;
    const train::Configuration configuration = train::read_configuration("", {});
    const train::Configuration back = configuration_of(train::to_toml(configuration, name, defaults));
    for (const auto& [option, value] : back.optimizer.options_for(name)) {
      EXPECT_EQ(to_text(value), to_text(defaults[option])) << name << '.' << option;
    }
    EXPECT_EQ(back.optimizer.options_for(name).size(), defaults.size());
  }
}

}  // namespace
}  // namespace kadam::test::configuration_text_test
