// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/run.hpp>

#include <utility>

namespace kadam::report {

/// What was run, when and on what: terms with what is to be said of them. What is the same for all runs is
/// said once, else for each by its label.
[[nodiscard]] std::vector<std::pair<std::string, std::vector<std::string>>> facts_of(
    const std::vector<Run>& runs);

/// Lines for a shell that make the same runs again; empty where that is not known.
[[nodiscard]] std::vector<std::string> repetitions_of(const std::vector<Run>& runs);
/// The command lines that the runs were started with.
[[nodiscard]] std::vector<std::string> commands_of(const std::vector<Run>& runs);

}  // namespace kadam::report
