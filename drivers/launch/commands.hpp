// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <string>
#include <vector>

/// Commands that start other programs: run here, or shown to somebody who runs them.
namespace kadam::launch {

/// Runs words[0], a program beside this one or in PATH, with the other words, and returns true if it ends
/// with exit code 0 before so much time has passed; then it is killed. It reads and prints nothing, and gets
/// no variable of MPI's launchers: it is no rank. Errors: none; false where it cannot be started.
[[nodiscard]] bool run_quietly(const std::vector<std::string>& words, std::chrono::milliseconds longest);

/// A text as one word for a shell, whatever is in it: as it is, or between apostrophes where need be.
/// it's -> 'it'\''s'
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace kadam::launch
