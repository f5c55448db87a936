// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/run.hpp>

#include <nlohmann/json.hpp>

namespace kadam::report {

/// The finite numbers of an object, by name; what else is in it is left out.
[[nodiscard]] Numbers numbers_of(const nlohmann::json& object);

}  // namespace kadam::report
