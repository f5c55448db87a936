// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/run.hpp>

namespace kadam::report {

/// Reads run.json and config.toml in the folder of the run; without them there are remarks. Errors:
/// std::runtime_error for a run.json that is none.
void read_record(Run& run);

/// What comparison.json says, in its order; nothing if there is no such file. Errors: std::runtime_error for
/// one that is none.
[[nodiscard]] std::vector<std::pair<std::string, Numbers>> read_comparison(
    const std::filesystem::path& folder);

/// The whole file; empty if there is none.
[[nodiscard]] std::string content_of(const std::filesystem::path& file);

}  // namespace kadam::report
