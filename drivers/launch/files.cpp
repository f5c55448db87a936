// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/files.hpp>
#include <launch/session.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace kadam::launch {

std::filesystem::path run_folder(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  return fmt::format("runs/{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr)));
}

void create_folder(const char* option, const std::filesystem::path& folder) {
  std::error_code reason;
  std::filesystem::create_directories(folder, reason);
  if (reason) {
    throw UsageError(
        fmt::format("{} {}: the folder cannot be made: {}", option, folder.string(), reason.message()));
  }
}

void require_unused(const std::filesystem::path& folder, const std::vector<std::string>& algorithms) {
  std::vector<std::filesystem::path> folders = {folder};
  for (const std::string& algorithm : algorithms) folders.push_back(folder / algorithm);
  for (const std::filesystem::path& place : folders) {
    for (const char* file : {"config.toml", "run.json", "metrics.jsonl", "parameters.safetensors",
                             "comparison.json", "report.html"}) {
      if (std::filesystem::exists(place / file)) {
        throw std::runtime_error(fmt::format(
            "{} holds {} already: choose another --run folder, because results are not overwritten",
            place.string(), file));
      }
    }
  }
}

void write_configuration(const std::filesystem::path& folder, const std::string& toml) {
  write_file(folder / "config.toml", toml);
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  // Before it, the text may lie in a buffer that no disk has seen.
  if (!stream.flush()) throw std::runtime_error(file.string() + ": cannot be written");
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  // Copying nothing at all counts as a failure; a folder can be opened, but not read.
  if (stream.peek() != std::ifstream::traits_type::eof()) text << stream.rdbuf();
  if (!stream.is_open() || stream.bad() || !text)
    throw std::runtime_error(file.string() + ": cannot be read");
  return text.str();
}

}  // namespace kadam::launch
