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

/// Keys that a TOML file and a command line set, for all programs that read them.
namespace kadam::configuration {

/// The section [optimizer], the same for all programs.
struct OptimizerSettings {
  std::string name = "adam";
  OptionMap options;                                   ///< [optimizer]: for every algorithm
  std::map<std::string, OptionMap> algorithm_options;  ///< [optimizer.NAME]: for this algorithm alone
  std::vector<ParameterGroup> groups;                  ///< [[optimizer.groups]]

  /// Options to make the algorithm with: `options`, overridden by those for this algorithm alone.
  [[nodiscard]] OptionMap options_for(const std::string& algorithm) const;

  /// Sets a key of the section to the value `node`. key: "name", "groups", OPTION, or NAME (a table of
  /// options) or NAME.OPTION for one algorithm. Errors: std::runtime_error with the whole key, and what would
  /// be right.
  void set(const std::string& key, const TomlNode& node);
};

/// Settings of one run: one algorithm with its resolved options, and the groups.
[[nodiscard]] OptimizerSettings resolved(const OptimizerSettings& settings, const std::string& algorithm,
                                         const OptionMap& options);

/// All keys that a file and a command line set.
struct Keys {
  OptionMap general;  ///< section.key of all other sections; the program checks which of them exist
  OptimizerSettings optimizer;
};

/// Reads a TOML file (none if the path is empty), then the assignments "section.key=value" in their order.
/// Errors: std::runtime_error, one sentence that names the file and line, or the key.
[[nodiscard]] Keys read_keys(const std::filesystem::path& file, const std::vector<std::string>& assignments);

/// Reads the section [optimizer], for programs that need no other: first a TOML file (none if the path is
/// empty), then the assignments "key=value" or "optimizer.key=value". Returns `settings` with these changes.
/// Errors: as read_keys().
[[nodiscard]] OptimizerSettings read_optimizer(const std::filesystem::path& file,
                                               const std::vector<std::string>& assignments,
                                               OptimizerSettings settings);

/// Text of a TOML file with these keys, named section.key, and with [optimizer]. Read back, it gives the same
/// keys.
[[nodiscard]] std::string toml_text(const OptionFields& keys, const OptimizerSettings& optimizer);

}  // namespace kadam::configuration
