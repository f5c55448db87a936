// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <train/configuration_fixture.hpp>

namespace kadam::test::configuration_test {
namespace {

TEST(Configuration, HasDefaults) {
  const train::Configuration configuration = train::read_configuration("", {});
  EXPECT_EQ(configuration.optimizer.name, "adam");
  EXPECT_EQ(configuration.training.steps, 500);
  EXPECT_EQ(configuration.data.kind, "idx");
  EXPECT_TRUE(configuration.optimizer.groups.empty());
}

TEST(Configuration, ReadsAllSections) {
  const train::Configuration configuration = configuration_of(R"(
[data]
kind = "text"
path = "words.txt"
held_out_fraction = 0.25
[model]
kind = "mlp"
hidden = [7, 5]
[training]
steps = 12
[optimizer]
name = "lamb"
lr = [0.1, 0.2]
[optimizer.lamb]
trust_max = 3
)");
  EXPECT_EQ(configuration.data.path, "words.txt");
  EXPECT_EQ(configuration.data.text.held_out_fraction, 0.25);
  EXPECT_EQ(configuration.model.mlp.hidden, (std::vector<std::int64_t>{7, 5}));
  EXPECT_EQ(configuration.training.steps, 12);
  EXPECT_EQ(configuration.optimizer.name, "lamb");
  EXPECT_EQ(configuration.optimizer.options_for("lamb"), (OptionMap{{"lr", {0.1, 0.2}}, {"trust_max", 3}}));
  EXPECT_EQ(configuration.optimizer.options_for("adam"), (OptionMap{{"lr", {0.1, 0.2}}}));
}

TEST(Configuration, ReadsTheKeysOfWorkloads) {
  const train::Configuration images = configuration_of(
      "[data]\ntask = \"segment\"\npatch = 7\ndirichlet_alpha = 0.5\n"
      "[model]\nkind = \"vit\"\npatch = 2\nwidth = 12\n");
  EXPECT_EQ(images.data.task, "segment");
  EXPECT_EQ(images.data.patch, 7);
  EXPECT_EQ(images.data.dirichlet_alpha, 0.5);
  EXPECT_EQ(images.model.vit.patch, 2);
  EXPECT_EQ(images.model.transformer.width, 12);
  const train::Configuration text = configuration_of(
      "[data]\nkind = \"text\"\npath = \"a\"\nobjective = \"masked\"\nmask_fraction = 0.25\n"
      "[training]\nseed = 5\n");
  EXPECT_EQ(text.data.text.objective, "masked");
  EXPECT_EQ(text.data.text.mask_fraction, 0.25);
  EXPECT_EQ(text.data.text.mask_seed, 5U);
}

TEST(Configuration, AssignmentsCountMoreThanTheFileAndLaterOnesMore) {
  const train::Configuration configuration =
      configuration_of("[training]\nsteps = 12\nbatch = 3\n[optimizer.adam]\nlr = 0.5\n",
                       {"training.steps=13", "training.steps=14", "optimizer.adam.lr=0.25"});
  EXPECT_EQ(configuration.training.steps, 14);
  EXPECT_EQ(configuration.training.batch, 3);
  EXPECT_EQ(configuration.optimizer.options_for("adam"), (OptionMap{{"lr", 0.25}}));
}

TEST(Configuration, OptionsOfOneAlgorithmCountMoreThanThoseOfAll) {
  const train::Configuration configuration =
      configuration_of("", {"optimizer.adam.lr=0.25", "optimizer.lr=0.5"});
  EXPECT_EQ(configuration.optimizer.options_for("adam"), (OptionMap{{"lr", 0.25}}));
  EXPECT_EQ(configuration.optimizer.options_for("lamb"), (OptionMap{{"lr", 0.5}}));
}

TEST(Configuration, AssignmentsNeedNoQuotationMarks) {
  const train::Configuration configuration =
      configuration_of("", {"data.path=/a b/c=d", "optimizer.name=lamb", "model.hidden=[]",
                            "optimizer.warmup_steps=auto", "model.activation=\"gelu\""});
  EXPECT_EQ(configuration.data.path, "/a b/c=d");
  EXPECT_EQ(configuration.optimizer.name, "lamb");
  EXPECT_TRUE(configuration.model.mlp.hidden.empty());
  EXPECT_EQ(configuration.model.mlp.activation, "gelu");
  EXPECT_EQ(configuration.optimizer.options, (OptionMap{{"warmup_steps", "auto"}}));
}

TEST(Configuration, ReadsGroups) {
  const std::string toml =
      "[[optimizer.groups]]\ntensors = \"*.bias\"\nlr_scale = 2\n"
      "[[optimizer.groups]]\ntensors = \"a\"\nweight_decay = 0\ndense = true\n";
  const std::vector<ParameterGroup> groups = configuration_of(toml).optimizer.groups;
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].tensors, "*.bias");
  EXPECT_EQ(groups[0].lr_scale, 2.0);
  EXPECT_FALSE(groups[0].weight_decay.has_value());
  EXPECT_FALSE(groups[0].dense);
  EXPECT_EQ(groups[1].weight_decay, 0.0);
  EXPECT_TRUE(groups[1].dense);
  EXPECT_EQ(configuration_of(toml, {"optimizer.groups=[{tensors=\"b\"}]"}).optimizer.groups.size(), 1U);
}

TEST(Configuration, RefusesUnknownKeysAndListsWhatExists) {
  expect_in("no option 'training.step': its options are data.kind", refusal_of("[training]\nstep = 1\n"));
  expect_in("no option 'trainings.steps'", refusal_of("[trainings]\nsteps = 1\n"));
  expect_in("no option 'lr'", refusal_of("lr = 1\n"));
  expect_in("there is no optimizer 'adm': choose one of adam, lamb", refusal_of("[optimizer.adm]\nlr = 1\n"));
  expect_in("adam has no option 'trust_max': its options are lr,",
            refusal_of("[optimizer.adam]\ntrust_max = 1\n"));
  expect_in("optimizer.groups has no option 'tensor': its options are tensors",
            refusal_of("[[optimizer.groups]]\ntensor = \"a\"\n"));
}

TEST(Configuration, RefusesWrongTypes) {
  expect_in("'training.steps': expected a whole number, got 1.5", refusal_of("[training]\nsteps = 1.5\n"));
  expect_in("'training.steps': expected a whole number, got \"ten\"", refusal_of("", {"training.steps=ten"}));
  expect_in("'data.kind': expected a text, got 3", refusal_of("[data]\nkind = 3\n"));
  expect_in("'optimizer.name': expected a text, got 3", refusal_of("[optimizer]\nname = 3\n"));
  expect_in("'model.hidden': expected a list of numbers", refusal_of("[model]\nhidden = [1, \"a\"]\n"));
  expect_in("'training.steps': expected a number, a text", refusal_of("[training]\nsteps = 2020-01-01\n"));
  expect_in("expected tables", refusal_of("[optimizer.groups]\ntensors = \"a\"\n"));
  expect_in("expected tables", refusal_of("", {"optimizer.groups=[1]"}));
}

TEST(Configuration, RefusesValuesOutOfRange) {
  for (const char* assignment :
       {"training.steps=0", "training.batch=0", "training.accumulate=0", "training.seed=-1",
        "training.log_every=0", "training.evaluate_every=-1", "training.held_out_examples=-1"}) {
    expect_in("training: '", refusal_of("", {assignment}));
  }
  expect_in("'weight_decay': expected a number, 0 or more, got -1",
            refusal_of("[[optimizer.groups]]\ntensors = \"a\"\nweight_decay = -1\n"));
  expect_in("'lr_scale': expected a number, 0 or more, got nan",
            refusal_of("[[optimizer.groups]]\ntensors = \"a\"\nlr_scale = nan\n"));
  expect_in("each group needs 'tensors'", refusal_of("[[optimizer.groups]]\ndense = true\n"));
}

TEST(Configuration, RefusesWhatTheDataCannotBe) {
  const std::string text = "[data]\nkind = \"text\"\npath = \"a\"\n";
  expect_in("text has no classes", refusal_of(text, {"data.dirichlet_alpha=0.1"}));
  expect_in("use causal or masked", refusal_of(text, {"data.objective=both"}));
  expect_in("expected above 0 and at most 1", refusal_of(text, {"data.mask_fraction=0"}));
  expect_in("needs kind 'idx'", refusal_of(text, {"data.task=segment"}));
  expect_in("expected at least 1 pixel", refusal_of("", {"model.kind=vit", "model.patch=0"}));
}

TEST(Configuration, NamesFileAndLineOfBadToml) {
  expect_in("run.toml: line 3:", refusal_of("[data]\nkind = \"idx\"\npath =\n"));
}

TEST(Configuration, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  const auto sentence = [&](const std::filesystem::path& path) {
    return error_of([&] { static_cast<void>(train::read_configuration(path, {})); });
  };
  expect_in("nothing.toml: there is no such file", sentence(folder.path() / "nothing.toml"));
  expect_in("found a folder", sentence(folder.path()));
}

TEST(Configuration, RefusesAssignmentsWithoutAKey) {
  expect_in("--set lr: expected section.key=value", refusal_of("", {"lr"}));
  expect_in("--set =3: expected section.key=value", refusal_of("", {"=3"}));
}

TEST(Configuration, SaysWhereAnOptionOfOneOfSeveralAlgorithmsBelongs) {
  const train::Configuration configuration = configuration_of("", {"optimizer.warmup_steps=3"});
  EXPECT_NO_THROW(configuration.require_honoured_by({"onebit_adam", "apmsqueeze"}));
  const std::string sentence = error_of([&] {
    configuration.require_honoured_by({"onebit_adam", "adam", "apmsqueeze"});
  });
  expect_in("adam has no such option", sentence);
  expect_in("optimizer.onebit_adam.warmup_steps, optimizer.apmsqueeze.warmup_steps", sentence);
  expect_in("names 'lamb' twice", error_of([&] { configuration.require_honoured_by({"lamb", "lamb"}); }));
}

}  // namespace
}  // namespace kadam::test::configuration_test
