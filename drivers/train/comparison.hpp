// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <train/run_summary.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace kadam::train {

/// The runs as a table for people: losses, accuracy, bytes per step and how many times fewer than dense, and
/// the milliseconds of a step.
[[nodiscard]] std::string comparison_table(const std::vector<RunSummary>& runs);

/// The same for programs: comparison.json.
void write_comparison_json(const std::filesystem::path& file, const std::vector<RunSummary>& runs);

}  // namespace kadam::train
