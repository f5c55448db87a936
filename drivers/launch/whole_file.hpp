// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>

namespace kadam::launch {

/// Writes a file that holds this text and nothing else. Errors: std::runtime_error "PATH: cannot be written",
/// also where the disk is full.
void write_file(const std::filesystem::path& file, const std::string& text);

/// All that a file holds. Errors: std::runtime_error "PATH: cannot be read".
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

}  // namespace kadam::launch
