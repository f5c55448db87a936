// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <configuration/optimizer_settings.hpp>
#include <kadam/options/option_fields.hpp>

#include <string>

namespace kadam::configuration {

/// A TOML file of these keys, section.key each, and of [optimizer]. Read back, it says the same.
[[nodiscard]] std::string toml_text(const OptionFields& keys, const OptimizerSettings& optimizer);

}  // namespace kadam::configuration
