// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/optim/options.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace kadam {
namespace {

std::string refusal(const std::string& name, const OptionMap& options) {
  try {
    (void)make_optimizer(name, options, TensorLayout({{"w", 0, 10}}), Communicator::self());
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Options, UnknownNamesListWhatExists) {
  EXPECT_TRUE(contains(refusal("adamax", {}), "'adamax': choose one of adam, lamb, onebit_adam, apmsqueeze"));
  const std::string text = refusal("adam", {{"beta3", 0.9}});
  EXPECT_TRUE(contains(text, "adam has no option 'beta3'")) << text;
  EXPECT_TRUE(contains(text, "beta1, beta2, eps")) << text;
}

TEST(Options, AnOptionThatIsNotHonouredIsRefused) {
  EXPECT_TRUE(contains(refusal("adam", {{"warmup_steps", std::int64_t{5}}}), "no option 'warmup_steps'"));
  EXPECT_TRUE(contains(refusal("onebit_adam", {{"warmup_steps", std::int64_t{5}}, {"bits", std::int64_t{4}}}),
                       "only 1"));
  EXPECT_TRUE(contains(refusal("apmsqueeze", {{"warmup_steps", std::int64_t{5}}, {"bias_correction", true}}),
                       "bias_correction"));
  EXPECT_TRUE(contains(refusal("apmsqueeze", {{"warmup_steps", std::string("auto")}}), "onebit_adam's"));
  EXPECT_TRUE(
      contains(refusal("apmsqueeze", {{"warmup_steps", std::int64_t{5}}, {"scale", std::string("mean_abs")}}),
               "1-bit"));
}

TEST(Options, WrongTypesAndRangesSayWhatIsExpected) {
  EXPECT_TRUE(contains(refusal("adam", {{"beta1", std::string("high")}}),
                       "option 'beta1': expected a number, got \"high\""));
  EXPECT_TRUE(contains(refusal("adam", {{"beta1", 1.0}}), "0 <= beta1 < 1"));
  EXPECT_TRUE(contains(refusal("adam", {{"eps", 0.0}}), "eps"));
  EXPECT_TRUE(contains(refusal("adam", {{"bias_correction", std::int64_t{1}}}), "true or false"));
  EXPECT_TRUE(contains(refusal("onebit_adam", {}), "'warmup_steps' is needed"));
  EXPECT_TRUE(contains(refusal("onebit_adam", {{"warmup_steps", 2.5}}), "a whole number"));
  EXPECT_TRUE(contains(refusal("apmsqueeze", {{"warmup_steps", std::int64_t{5}}, {"bits", std::int64_t{3}}}),
                       "1, 2, 4 or 8"));
  EXPECT_TRUE(contains(refusal("adam", {{"gradients", std::string("half")}}),
                       "option 'gradients': expected \"float32\", \"bf16\" or \"fp16\", got \"half\""));
  EXPECT_EQ(refusal("adam", {{"gradients", std::string("fp16")}}), "accepted");
  for (const std::string name : {"locally_accumulated_adam", "divisible_adam"}) {
    for (const std::int64_t interval : {0, 3}) {
      EXPECT_TRUE(
          contains(refusal(name, {{"variance_sync_interval", interval}, {"variance_delay", std::int64_t{3}}}),
                   "'variance_delay': expected 0 (at once), or fewer steps"));
    }
    EXPECT_EQ(refusal(name, {{"variance_delay", std::int64_t{49}}}), "accepted");
    EXPECT_TRUE(contains(refusal(name, {{"exchange", std::string("ring")}}),
                         "option 'exchange': expected \"own\" or \"owner\", got \"ring\""));
    EXPECT_EQ(refusal(name, {{"exchange", std::string("owner")}}), "accepted");
  }
  EXPECT_TRUE(contains(refusal("lamb", {{"trust_min", 2.0}, {"trust_max", 1.0}}), "trust_min <= trust_max"));
}

TEST(Options, GroupsAreCheckedToo) {
  const TensorLayout layout({{"w", 0, 10}});
  const auto make = [&](const ParameterGroup& group) {
    return make_optimizer("adam", {}, layout, Communicator::self(), {group});
  };
  EXPECT_NO_THROW((void)make({.tensors = "w", .lr_scale = 2.0, .weight_decay = 0.1}));
  EXPECT_THROW((void)make({.tensors = "w", .lr_scale = -1.0}), std::invalid_argument);
  EXPECT_THROW((void)make({.tensors = "w", .weight_decay = -0.1}), std::invalid_argument);
}

TEST(Options, ResolvedOptionsReadBackAsTheSame) {
  const OptionMap given = {{"warmup_steps", std::string("auto")},
                           {"lr", std::vector<double>{0.1, 0.2}},
                           {"scale", std::string("mean_abs")}};
  const auto first = make_optimizer("onebit_adam", given, TensorLayout({{"w", 0, 10}}), Communicator::self());
  const OptionMap resolved = first->options();
  EXPECT_EQ(to_text(resolved.at("warmup_steps")), "\"auto\"");
  EXPECT_EQ(to_text(resolved.at("lr")), "[0.1, 0.2]");
  EXPECT_EQ(to_text(resolved.at("beta2")), "0.999");
  const auto second =
      make_optimizer("onebit_adam", resolved, TensorLayout({{"w", 0, 10}}), Communicator::self());
  EXPECT_EQ(hash_of(second->options()), hash_of(resolved));
}

TEST(Options, HashesSeeEveryValue) {
  const OptionMap a = {{"beta1", 0.9}};
  const OptionMap b = {{"beta1", 0.9000000001}};
  EXPECT_NE(hash_of(a), hash_of(b));
  EXPECT_EQ(hash_of(a), hash_of(OptionMap{{"beta1", 0.9}}));
}

TEST(Options, DefaultsAndHelpExistForEveryOptimizer) {
  for (const std::string& name : optimizer_names()) {
    for (const OptionHelp& option : optimizer_options(name))
      EXPECT_FALSE(option.help.empty()) << name << " " << option.name;
  }
}

}  // namespace
}  // namespace kadam
