// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/optimizer_names.hpp>
#include <kadam/options/option_fields.hpp>

#include <string>

namespace kadam::configuration {

/// "  key    meaning (default)", the meaning continued below itself, in lines of at most 100 characters.
[[nodiscard]] std::string help_entry(const std::string& key, const std::string& meaning,
                                     const std::string& fallback = "");
[[nodiscard]] std::string help_entry(const OptionHelp& option);

/// One for every key, with its value as the default.
[[nodiscard]] std::string help_entries(const OptionFields& keys);

}  // namespace kadam::configuration
