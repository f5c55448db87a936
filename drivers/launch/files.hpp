// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// Files and folders that programs read and write.
namespace kadam::launch {

/// The folder that was asked for; runs/DATE-TIME if none was.
[[nodiscard]] std::filesystem::path run_folder(const std::string& wanted);

/// Makes it and those around it. Errors: UsageError that names the option.
void create_folder(const char* option, const std::filesystem::path& folder);

/// Throws if a run would write over anything in the folder, or in the folders of the algorithms inside it.
void require_unused(const std::filesystem::path& folder, const std::vector<std::string>& algorithms);

/// config.toml. Errors: std::runtime_error where it cannot be written.
void write_configuration(const std::filesystem::path& folder, const std::string& toml);

/// Writes a file that holds this text and nothing else. Errors: std::runtime_error "PATH: cannot be written",
/// also where the disk is full.
void write_file(const std::filesystem::path& file, const std::string& text);

/// All that a file holds. Errors: std::runtime_error "PATH: cannot be read".
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

}  // namespace kadam::launch
