// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace kadam {

/// The value of an option as configuration files, C and Fortran give it.
using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;
/// Options by name, as in docs/configuration.md.
using OptionMap = std::map<std::string, OptionValue, std::less<>>;

/// A value as people write it: 0.1, true, "auto", [0.1, 0.2].
[[nodiscard]] std::string to_text(const OptionValue& value);

}  // namespace kadam
