// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kadam::launch {

/// The folder that was asked for; runs/DATE-TIME if none was.
[[nodiscard]] std::filesystem::path run_folder(const std::string& wanted);

/// Makes it and those around it. Errors: UsageError that names the option.
void create_folder(const char* option, const std::filesystem::path& folder);

/// Throws if a run would write over anything in the folder, or in the folders of the algorithms inside it.
void require_unused(const std::filesystem::path& folder, const std::vector<std::string>& algorithms);

/// config.toml. Errors: std::runtime_error where it cannot be written.
void write_configuration(const std::filesystem::path& folder, const std::string& toml);

}  // namespace kadam::launch
