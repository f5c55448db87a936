// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <configuration/toml_tree.hpp>
#include <kadam/options/option_fields.hpp>

#include <string>

namespace kadam::configuration {

/// What a key is set to. Errors: std::runtime_error with the key for tables, dates and lists of anything but
/// numbers.
[[nodiscard]] OptionValue option_value(const std::string& key, const TomlNode& node);

}  // namespace kadam::configuration
