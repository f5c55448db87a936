// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// Files and folders that programs read and write.
namespace kadam::launch {

/// The folder `wanted`; runs/DATE-TIME if it is empty.
[[nodiscard]] std::filesystem::path run_folder(const std::string& wanted);

/// Makes a folder and its parents. Errors: UsageError that names the option.
void create_folder(const char* option, const std::filesystem::path& folder);

/// Throws std::runtime_error if the folder, or folder/ALGORITHM of one of the algorithms, holds a file that a
/// run writes.
void require_unused(const std::filesystem::path& folder, const std::vector<std::string>& algorithms);

/// Writes folder/config.toml. Errors: as write_file().
void write_configuration(const std::filesystem::path& folder, const std::string& toml);

/// Writes a file that holds exactly this text. Errors: std::runtime_error "PATH: cannot be written",
/// also where the disk is full.
void write_file(const std::filesystem::path& file, const std::string& text);

/// The whole contents of a file. Errors: std::runtime_error "PATH: cannot be read".
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

}  // namespace kadam::launch
