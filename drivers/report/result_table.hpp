// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/html.hpp>
#include <report/run.hpp>

namespace kadam::report {

/// Losses, bytes and time of all runs. Of a run without result, what its last line says.
[[nodiscard]] Table result_table_of(const std::vector<Run>& runs);

/// What was sent while the program computed, as sentences.
[[nodiscard]] std::vector<std::string> background_notes_of(const std::vector<Run>& runs);

}  // namespace kadam::report
