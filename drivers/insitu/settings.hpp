// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <configuration/optimizer_settings.hpp>
#include <insitu/gray_scott.hpp>
#include <insitu/surrogate.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kadam::insitu {

/// How long, how much at a time, how often to look.
struct OnlineOptions {
  std::int64_t jumps = 150;
  std::int64_t steps_per_jump = 20;
  std::int64_t batch = 128;
  std::int64_t seed = 1;
  std::int64_t evaluate_every = 5;
  std::int64_t unseen_jumps = 10;

  void describe(OptionFields& fields);
  /// Errors: std::invalid_argument with the value and what would be right.
  void validate() const;
  [[nodiscard]] std::int64_t steps() const { return jumps * steps_per_jump; }
};

/// All that defines a run: a TOML file with the sections solver, surrogate, training and optimizer; every key
/// can be given as section.key=value too, which counts more. [optimizer] is that of kadam-train.
struct Settings {
  GrayScottOptions solver;
  SurrogateOptions surrogate;
  OnlineOptions training;
  configuration::OptimizerSettings optimizer;

  void describe(OptionFields& fields);
};

/// Reads a file (none if the path is empty), then the assignments "section.key=value" in their order; an
/// optimizer's name counts more than both unless it is empty.
/// Errors: std::runtime_error or std::invalid_argument, one sentence that names the file and line, or the key
/// and what exists.
[[nodiscard]] Settings read_settings(const std::filesystem::path& file,
                                     const std::vector<std::string>& assignments,
                                     const std::string& optimizer);

/// As TOML, with these options of the optimizer. Read back, it makes the same run.
[[nodiscard]] std::string to_toml(const Settings& settings, const OptionMap& resolved_options);

/// The keys of solver, surrogate and training, with meaning and default.
[[nodiscard]] std::string key_help();

}  // namespace kadam::insitu
