// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>
#include <train/trainer.hpp>
#include <vector>

namespace kadam::train {

/// Throws if a run would write over anything in the folder, or in the folders of the algorithms inside it.
void require_unused(const std::filesystem::path& folder, const std::vector<std::string>& algorithms);

/// report.html: one file with the table, the training curves (drawn by gnuplot, left out where there is none)
/// and the configuration.
void write_report(const std::filesystem::path& folder, const Configuration& configuration,
                  const std::vector<RunSummary>& runs);

}  // namespace kadam::train
