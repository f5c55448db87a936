// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <string>
#include <vector>

/// Commands of other programs, to be run or to be shown.
namespace kadam::launch {

/// Runs the program words[0], which lies beside this one or in PATH, with the other words as arguments.
/// Waits, and kills it after `longest`. Returns true if it ends with exit code 0 before; false otherwise,
/// also if it cannot be started. The program has no input and no output, and none of the variables by which
/// MPI's launchers mark ranks.
[[nodiscard]] bool run_quietly(const std::vector<std::string>& words, std::chrono::milliseconds longest);

/// Quotes any text so that a shell reads it as one word; a text that needs no quotes stays.
/// it's -> 'it'\''s'
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace kadam::launch
