// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <configuration/optimizer_settings.hpp>
#include <kadam/options/option_fields.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace kadam::configuration {

/// What a file and a command line set.
struct Keys {
  OptionMap general;  ///< section.key of all other sections; the program says which there are
  OptimizerSettings optimizer;
};

/// Reads a TOML file (none if the path is empty), then the assignments "section.key=value" in their order.
/// Errors: std::runtime_error, one sentence that names the file and line, or the key.
[[nodiscard]] Keys read_keys(const std::filesystem::path& file, const std::vector<std::string>& assignments);

}  // namespace kadam::configuration
