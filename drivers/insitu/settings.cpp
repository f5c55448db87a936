// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <configuration/help_entry.hpp>
#include <configuration/keys.hpp>
#include <configuration/toml_text.hpp>
#include <insitu/settings.hpp>

namespace kadam::insitu {
void OnlineOptions::describe(OptionFields& fields) {
  fields.add("training.jumps", jumps, "jumps of the solver while the surrogate learns");
  fields.add("training.steps_per_jump", steps_per_jump, "optimizer steps after each of them");
  fields.add("training.batch", batch, "examples per rank and step: cells of the rank's own block");
  fields.add("training.seed", seed, "seed of the initial parameters and of the examples");
  fields.add("training.evaluate_every", evaluate_every,
             "jumps between evaluations, each on a jump not seen yet");
  fields.add("training.unseen_jumps", unseen_jumps, "jumps after training on which the surrogate is judged");
}

void OnlineOptions::validate() const {
  const std::string owner = "training";
  require_option(jumps > 0, owner, "'jumps': expected 1 or more");
  require_option(steps_per_jump > 0, owner, "'steps_per_jump': expected 1 or more");
  require_option(batch > 0, owner, "'batch': expected 1 or more examples per rank");
  require_option(seed >= 0, owner, "'seed': expected 0 or more");
  require_option(evaluate_every > 0, owner, "'evaluate_every': expected 1 or more jumps");
  require_option(unseen_jumps > 0, owner, "'unseen_jumps': expected 1 or more");
}

void Settings::describe(OptionFields& fields) {
  solver.describe(fields);
  surrogate.describe(fields);
  training.describe(fields);
}

Settings read_settings(const std::filesystem::path& file, const std::vector<std::string>& assignments,
                       const std::string& optimizer) {
  configuration::Keys keys = configuration::read_keys(file, assignments);
  if (!optimizer.empty()) keys.optimizer.name = optimizer;
  Settings settings;
  OptionFields fields;
  settings.describe(fields);
  fields.read("the configuration", keys.general);
  settings.optimizer = keys.optimizer;
  settings.solver.validate();
  settings.surrogate.validate();
  settings.training.validate();
  return settings;
}

std::string to_toml(const Settings& settings, const OptionMap& resolved_options) {
  Settings copy = settings;
  OptionFields fields;
  copy.describe(fields);
  return configuration::toml_text(
      fields, configuration::resolved(settings.optimizer, settings.optimizer.name, resolved_options));
}

std::string key_help() {
  Settings defaults;
  OptionFields fields;
  defaults.describe(fields);
  return "Keys of the configuration:\n" + configuration::help_entries(fields) +
         configuration::help_entry("optimizer.KEY", "of the optimizer: kadam-train --help lists them all");
}

}  // namespace kadam::insitu
