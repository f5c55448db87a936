// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/options/option_fields.hpp>
#include <support/optimizers_that.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

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

TEST(OptionValues, AreMadeOfWhatIsWritten) {
  const OptionMap map = {{"flag", true},     {"int", 100},     {"unsigned", std::size_t{7}},
                         {"float", 0.5F},    {"word", "auto"}, {"text", std::string("rms")},
                         {"list", {1, 2.5}}, {"negative", -3}};
  EXPECT_TRUE(std::get<bool>(map.at("flag")));
  EXPECT_EQ(std::get<std::int64_t>(map.at("int")), 100);
  EXPECT_EQ(std::get<std::int64_t>(map.at("unsigned")), 7);
  EXPECT_EQ(std::get<std::int64_t>(map.at("negative")), -3);
  EXPECT_EQ(std::get<double>(map.at("float")), 0.5);
  EXPECT_EQ(std::get<std::string>(map.at("word")), "auto");
  EXPECT_EQ(std::get<std::string>(map.at("text")), "rms");
  EXPECT_EQ(std::get<std::vector<double>>(map.at("list")), (std::vector<double>{1.0, 2.5}));
  EXPECT_THROW((void)OptionValue(std::uint64_t{1} << 63), std::out_of_range);
}

TEST(OptionValues, TextsReadBackAsTheSameNumber) {
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(0.123456789), "0.123456789");
  EXPECT_EQ(std::stod(to_text(1.0 / 3.0)), 1.0 / 3.0);
}

TEST(Options, UnknownNamesListWhatExists) {
  EXPECT_TRUE(contains(refusal("adamax", {}), "'adamax': choose one of adam, lamb, muon, onebit_adam"));
  const std::string text = refusal("adam", {{"beta3", 0.9}});
  EXPECT_TRUE(contains(text, "adam has no option 'beta3'")) << text;
  EXPECT_TRUE(contains(text, "beta1, beta2, eps")) << text;
}

TEST(Options, AnOptionThatIsNotHonouredIsRefused) {
  EXPECT_TRUE(contains(refusal("adam", {{"warmup_steps", 5}}), "no option 'warmup_steps'"));
  EXPECT_TRUE(
      contains(refusal("onebit_adam", {{"warmup_steps", 5}, {"bits", 4}}), "'bits': expected 1, got 4"));
  EXPECT_TRUE(
      contains(refusal("loco", {{"code", "float8"}}), "expected \"uniform2\", \"uniform4\" or \"uniform8\""));
  EXPECT_TRUE(
      contains(refusal("apmsqueeze", {{"warmup_steps", 5}, {"bias_correction", true}}), "bias_correction"));
  EXPECT_TRUE(contains(refusal("apmsqueeze", {{"warmup_steps", "auto"}}), "does not take \"auto\""));
  EXPECT_TRUE(contains(refusal("apmsqueeze", {{"warmup_steps", 5}, {"scale", "mean_abs"}}), "1-bit"));
  EXPECT_TRUE(contains(refusal("adam", {{"warmup_code", "uniform8"}}), "no option 'warmup_code'"));
}

TEST(Options, AWarmUpTakesEveryCodeThatCanSayZero) {
  const auto with = [](const std::string& code) {
    return OptionMap{{"warmup_steps", 5}, {"warmup_code", code}};
  };
  for (const std::string& name : test::optimizers_that_take(with("uniform8"))) {
    for (const std::string& code : code_names()) {
      const std::string text = refusal(name, with(code));
      EXPECT_EQ(text == "accepted", code != "sign" && code != "gauss2") << name << ", " << text;
    }
    EXPECT_TRUE(contains(refusal(name, with("sign")), "'warmup_code': expected \"none\", \"uniform2\""))
        << name;
  }
}

TEST(Options, BitsAreAnotherWayToSayTheCode) {
  const std::map<std::string, int> bits_of = {{"sign", 1}, {"uniform2", 2}, {"uniform4", 4}, {"uniform8", 8}};
  for (const std::string& name : test::optimizers_that([](const auto& is) { return !is.codes.empty(); })) {
    SCOPED_TRACE(name);
    const auto with = [&](const std::string& option, const OptionValue& value) {
      OptionMap options = test::options_with_warmup(name, 5);
      options[option] = value;
      return options;
    };
    const auto shown = [&](const OptionMap& options) {
      const TensorLayout layout({{"w", 0, 10}});
      return make_optimizer(name, options, layout, Communicator::self())->options();
    };
    for (const std::string& code : optimizer_traits(name).codes) {
      const OptionMap by_code = shown(with("code", code));
      EXPECT_EQ(by_code.at("code"), OptionValue(code));
      if (!bits_of.contains(code)) continue;  // other codes are of the same length
      EXPECT_EQ(shown(with("bits", bits_of.at(code))), by_code);
      OptionMap both = with("bits", bits_of.at(code));
      both["code"] = code;
      const std::string text = refusal(name, both);
      EXPECT_TRUE(contains(text, name + ": the options 'bits' and 'code' set the same thing")) << text;
    }
    EXPECT_EQ(shown(test::options_with_warmup(name, 5)).count("bits"), 0U);
  }
}

TEST(Options, WrongTypesAndRangesSayWhatIsExpected) {
  EXPECT_TRUE(contains(refusal("adam", {{"beta1", "high"}}),
                       "option 'beta1': expected a number, 0 to below 1, got \"high\""));
  EXPECT_TRUE(contains(refusal("adam", {{"beta1", 1.0}}), "0 to below 1, got 1"));
  EXPECT_TRUE(contains(refusal("adam", {{"eps", 0.0}}), "eps"));
  EXPECT_TRUE(contains(refusal("adam", {{"bias_correction", 1}}), "true or false"));
  EXPECT_TRUE(contains(refusal("onebit_adam", {}), "'warmup_steps' is needed"));
  EXPECT_TRUE(contains(refusal("onebit_adam", {{"warmup_steps", 2.5}}), "a whole number"));
  EXPECT_TRUE(contains(refusal("apmsqueeze", {{"warmup_steps", 5}, {"bits", 3}}), "1, 2, 4 or 8"));
  EXPECT_TRUE(contains(refusal("adam", {{"gradients", "half"}}),
                       "option 'gradients': expected \"float32\", \"bf16\" or \"fp16\", got \"half\""));
  EXPECT_EQ(refusal("adam", {{"gradients", "fp16"}}), "accepted");
  for (const std::string& name : test::optimizers_that(&OptimizerTraits::sparse)) {
    for (const std::int64_t interval : {0, 3}) {
      EXPECT_TRUE(contains(refusal(name, {{"variance_sync_interval", interval}, {"variance_delay", 3}}),
                           "'variance_delay': expected 0 (at once), or fewer steps"));
    }
    EXPECT_EQ(refusal(name, {{"variance_delay", 49}}), "accepted");
    EXPECT_TRUE(contains(refusal(name, {{"exchange", "ring"}}),
                         "option 'exchange': expected \"own\" or \"owner\", got \"ring\""));
    EXPECT_EQ(refusal(name, {{"exchange", "owner"}}), "accepted");
    EXPECT_EQ(refusal(name, {{"value_bits", 2}}), "accepted");
    EXPECT_EQ(refusal(name, {{"variance", "factored"}}), "accepted");
    EXPECT_TRUE(contains(refusal(name, {{"variance", "shared"}}), "expected \"own\" or \"factored\""));
    EXPECT_TRUE(contains(refusal(name, {{"variance", "factored"}, {"variance_delay", 3}}),
                         "'variance_delay' needs variance = \"own\""));
    EXPECT_EQ(refusal(name, {{"value_bits", 32}, {"exchange", "owner"}, {"select_block", 0}}), "accepted");
    EXPECT_TRUE(contains(refusal(name, {{"value_bits", 4}}), "'value_bits': expected 32 or 2, got 4"));
    EXPECT_TRUE(contains(refusal(name, {{"value_bits", 2}, {"exchange", "owner"}}),
                         "'value_bits': 2 needs exchange = \"own\""));
    for (const std::int64_t block : {0, 4097}) {
      EXPECT_TRUE(contains(refusal(name, {{"value_bits", 2}, {"select_block", block}}),
                           "'value_bits': 2 needs a select_block from 1 to 4096"));
    }
  }
  EXPECT_EQ(refusal("efficient_adam", {{"variance", "factored"}, {"variance_sync_interval", 3}}), "accepted");
  EXPECT_TRUE(contains(refusal("efficient_adam", {{"variance_sync_interval", 3}}),
                       "'variance_sync_interval' needs variance = \"factored\""));
  EXPECT_TRUE(contains(refusal("lamb", {{"trust_min", 2.0}, {"trust_max", 1.0}}),
                       "trust_min <= trust_max, got 2 and 1"));
}

struct Limit {
  std::string optimizer;
  std::string option;
  OptionValue last;  ///< still accepted
  OptionValue beyond;
  OptionMap others;
};

/// The refusal comes from the option's own check: it names the option, where what an optimizer is made of
/// could not.
TEST(Options, RangesEndWhereTheySay) {
  const OptionMap after_five = {{"warmup_steps", 5}};
  const OptionMap frozen_at_five = {{"variance_freeze_step", 5}};
  const double below_one = std::nextafter(1.0, 0.0);
  const double above_zero = 1e-300;
  const auto whole = [](std::int64_t value) { return OptionValue(value); };
  const std::vector<Limit> limits = {
      {"adam", "beta1", below_one, 1.0, {}},
      {"adam", "beta1", 0.0, -0.1, {}},
      {"adam", "beta2", below_one, 1.0, {}},
      {"adam", "beta2", 0.0, -0.1, {}},
      {"adam", "eps", 1e-30, 0.0, {}},
      {"adam", "weight_decay", 0.0, -1e-9, {}},
      {"adam", "clip_norm", 0.0, -1e-9, {}},
      {"adam", "dense_below", whole(0), whole(-1), {}},
      {"adam", "lr_warmup_steps", whole(0), whole(-1), {}},
      {"adam", "lr_final_fraction", 1.0, 1.01, {}},
      {"adam", "lr_final_fraction", 0.0, -0.01, {}},
      {"adam", "lr_decay", 0.0, -0.1, {}},
      {"adam", "lr_decay_every", whole(1), whole(0), {{"lr_schedule", "steps"}}},
      {"adam", "lr_total_steps", whole(6), whole(5), {{"lr_schedule", "cosine"}, {"lr_warmup_steps", 5}}},
      {"lamb", "trust_min", 0.0, -0.1, {}},
      {"onebit_adam", "block", whole(0), whole(-1), after_five},
      {"onebit_adam", "warmup_steps", whole(1), whole(0), {}},
      {"onebit_adam", "variance_floor", 1.0, 1.01, after_five},
      {"apmsqueeze", "warmup_steps", whole(1), whole(0), {}},
      {"onebit_lamb", "warmup_steps", whole(1), whole(0), {}},
      {"onebit_lamb", "ratio_min", 1.0, 1.01, after_five},
      {"onebit_lamb", "ratio_min", above_zero, 0.0, after_five},
      {"onebit_lamb", "ratio_max", 1.0, 0.99, after_five},
      {"onebit_lamb", "ratio_change", below_one, 1.0, after_five},
      {"onebit_lamb", "beta3", below_one, 1.0, after_five},
      {"onebit_lamb", "variance_floor", 0.0, -0.01, after_five},
      {"zero_one_adam", "variance_freeze_step", whole(1), whole(0), {}},
      {"zero_one_adam", "variance_kappa", whole(1), whole(0), frozen_at_five},
      {"zero_one_adam", "sync_doubling_steps", whole(1), whole(0), frozen_at_five},
      {"zero_one_adam", "sync_interval_max", whole(1), whole(0), frozen_at_five},
      {"zero_one_adam", "variance_floor", 1.0, 1.01, frozen_at_five},
      {"loco", "error_beta", below_one, 1.0, {}},
      {"loco", "error_reset", whole(0), whole(-1), {}},
      {"loco", "bits", whole(2), whole(1), {}},
      {"loco", "bits", whole(8), whole(16), {}},
      {"loco", "block", whole(0), whole(-1), {}},
      {"locally_accumulated_adam", "warmup_steps", whole(0), whole(-1), {}},
      {"locally_accumulated_adam", "density", above_zero, 0.0, {}},
      {"locally_accumulated_adam", "density", 1.0, 1.01, {}},
      {"locally_accumulated_adam", "select_block", whole(65536), whole(65537), {}},
      {"locally_accumulated_adam", "variance_sync_interval", whole(0), whole(-1), {}},
      {"locally_accumulated_adam", "step_ahead", 1.0, 1.01, {}},
      {"locally_accumulated_adam", "residual_decay", 1.0, 1.01, {}},
      {"locally_accumulated_adam", "residual_decay", 0.0, -0.01, {}},
      {"divisible_adam", "background_steps", whole(1), whole(0), {}}};
  for (const Limit& limit : limits) {
    SCOPED_TRACE(limit.optimizer + ", " + limit.option);
    OptionMap options = limit.others;
    options[limit.option] = limit.last;
    EXPECT_EQ(refusal(limit.optimizer, options), "accepted");
    options[limit.option] = limit.beyond;
    const std::string text = refusal(limit.optimizer, options);
    EXPECT_TRUE(contains(text, limit.optimizer) && contains(text, limit.option)) << text;
  }
}

/// What nobody asks for is safe on models with biases of keys, rare rows and units that die.
TEST(Options, TheVarianceHasAFloorUnlessOneSaysNone) {
  std::vector<std::string> with_floor;
  for (const std::string& name : optimizer_names()) {
    for (const OptionHelp& option : optimizer_options(name)) {
      if (option.name != "variance_floor") continue;
      with_floor.push_back(name);
      EXPECT_EQ(option.value, OptionValue(0.1)) << name;
    }
  }
  EXPECT_EQ(with_floor,
            (std::vector<std::string>{"onebit_adam", "apmsqueeze", "zero_one_adam", "onebit_lamb"}));
}

TEST(Options, NumbersAreFiniteAndListsAreLookedThrough) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double number : {infinity, -infinity, std::nan("")}) {
    EXPECT_TRUE(contains(refusal("adam", {{"eps", number}}), "option 'eps': expected a number, above 0"));
  }
  EXPECT_EQ(refusal("adam", {{"lr", {0.1, 0.0}}}), "accepted");
  EXPECT_TRUE(contains(refusal("adam", {{"lr", {0.1, -0.1}}}),
                       "option 'lr': expected a number, 0 or more, got -0.1"));
}

TEST(Ranges, SayTheirEnds) {
  EXPECT_EQ(Range::at_least(0).text(), "0 or more");
  EXPECT_EQ(Range::above(0.5).text(), "above 0.5");
  EXPECT_EQ(Range::at_least(0).up_to(1).text(), "0 to 1");
  EXPECT_EQ(Range::at_least(0).below(1).text(), "0 to below 1");
  EXPECT_EQ(Range::above(0).up_to(1).text(), "above 0, at most 1");
  EXPECT_EQ(Range::above(0).below(1).text(), "above 0, below 1");
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
  const OptionMap given = {
      {"warmup_steps", "auto"}, {"lr", std::vector<double>{0.1, 0.2}}, {"scale", "mean_abs"}};
  const auto first = make_optimizer("onebit_adam", given, TensorLayout({{"w", 0, 10}}), Communicator::self());
  const OptionMap resolved = first->options();
  EXPECT_EQ(to_text(resolved.at("warmup_steps")), "\"auto\"");
  EXPECT_EQ(to_text(resolved.at("lr")), "[0.1, 0.2]");
  EXPECT_EQ(to_text(resolved.at("beta2")), "0.999");
  const auto second =
      make_optimizer("onebit_adam", resolved, TensorLayout({{"w", 0, 10}}), Communicator::self());
  ASSERT_EQ(second->options().size(), resolved.size());
  for (const auto& [name, value] : resolved) EXPECT_EQ(to_text(second->options().at(name)), to_text(value));
}

/// The help says what a value may be, for whoever documents options.
TEST(Options, HelpSaysTheRange) {
  const std::vector<OptionHelp> all = optimizer_options("adam");
  const auto help = [&](const std::string& name) {
    return std::find_if(all.begin(), all.end(), [&](const OptionHelp& one) { return one.name == name; })
        ->help;
  };
  EXPECT_EQ(help("beta1"), "decay of the first moment; 0 to below 1");
  EXPECT_EQ(help("lr_schedule"), "how lr falls; constant, cosine or steps");
}

TEST(Options, DefaultsAndHelpExistForEveryOptimizer) {
  for (const std::string& name : optimizer_names()) {
    for (const OptionHelp& option : optimizer_options(name))
      EXPECT_FALSE(option.help.empty()) << name << " " << option.name;
  }
}

}  // namespace
}  // namespace kadam
