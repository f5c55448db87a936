// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <configuration/toml_tree.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/options/parameter_groups.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

/// What a TOML file and a command line set, for all programs that read one.
namespace kadam::configuration {

/// The section [optimizer], the same for all programs.
struct OptimizerSettings {
  std::string name = "adam";
  OptionMap options;                                   ///< [optimizer]: for whichever algorithm runs
  std::map<std::string, OptionMap> algorithm_options;  ///< [optimizer.NAME]: for this algorithm alone
  std::vector<ParameterGroup> groups;                  ///< [[optimizer.groups]]

  /// What the algorithm is to be made with.
  [[nodiscard]] OptionMap options_for(const std::string& algorithm) const;

  /// Takes what a key of the section is set to: "name", "groups", OPTION, NAME or NAME.OPTION.
  /// Errors: std::runtime_error with the whole key, and what would be right.
  void set(const std::string& key, const TomlNode& node);
};

/// What one run was made of: one algorithm with its resolved options, and the groups.
[[nodiscard]] OptimizerSettings resolved(const OptimizerSettings& settings, const std::string& algorithm,
                                         const OptionMap& options);

/// What a file and a command line set.
struct Keys {
  OptionMap general;  ///< section.key of all other sections; the program says which there are
  OptimizerSettings optimizer;
};

/// Reads a TOML file (none if the path is empty), then the assignments "section.key=value" in their order.
/// Errors: std::runtime_error, one sentence that names the file and line, or the key.
[[nodiscard]] Keys read_keys(const std::filesystem::path& file, const std::vector<std::string>& assignments);

/// Reads the section [optimizer] alone, for programs that need no other: first a TOML file (none if the path
/// is empty), then the assignments "key=value", where "optimizer.key=value" is the same. What they set
/// changes `settings`. Errors: as read_keys().
[[nodiscard]] OptimizerSettings read_optimizer(const std::filesystem::path& file,
                                               const std::vector<std::string>& assignments,
                                               OptimizerSettings settings);

/// A TOML file of these keys, section.key each, and of [optimizer]. Read back, it says the same.
[[nodiscard]] std::string toml_text(const OptionFields& keys, const OptimizerSettings& optimizer);

}  // namespace kadam::configuration
