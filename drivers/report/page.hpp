// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/read_runs.hpp>

namespace kadam::report {

/// Writes one HTML file with everything in it, pictures too: no script, nothing from elsewhere. The same runs
/// make the same bytes. Without gnuplot it has tables alone, and says so.
///
/// An empty title is made of the optimizers' names. Errors: std::runtime_error where it cannot be written.
void write_page(const std::vector<Run>& runs, const std::filesystem::path& file,
                const std::string& title = "");

}  // namespace kadam::report
