// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/run.hpp>

namespace kadam::report {

/// Reads folders of kadam-train: of one run each (metrics.jsonl is in it), or of a comparison (its folders
/// are runs), of any day. Those of a comparison come in the order of comparison.json.
///
/// Errors: std::runtime_error that names the folder or file, and what was expected there.
[[nodiscard]] std::vector<Run> read_runs(const std::vector<std::filesystem::path>& folders);

}  // namespace kadam::report
