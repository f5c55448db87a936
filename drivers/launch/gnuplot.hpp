// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>

namespace kadam::launch {

/// A text as gnuplot writes it, whatever is in it: it's -> 'it''s'.
[[nodiscard]] std::string gnuplot_text(const std::string& text);

/// Writes the commands beside the pictures that they make, and runs gnuplot in that folder: names in them are
/// relative to it. false where there is no gnuplot, or it does not like them: the script stays in either
/// case. Errors: std::runtime_error where the script cannot be written.
[[nodiscard]] bool run_gnuplot(const std::filesystem::path& script, const std::string& commands);

}  // namespace kadam::launch
