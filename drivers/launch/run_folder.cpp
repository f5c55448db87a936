// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/run_folder.hpp>
#include <launch/session.hpp>
#include <launch/whole_file.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
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
        throw std::runtime_error(
            fmt::format("{} holds {} already: choose another --run folder, nothing is written over",
                        place.string(), file));
      }
    }
  }
}

void write_configuration(const std::filesystem::path& folder, const std::string& toml) {
  write_file(folder / "config.toml", toml);
}

}  // namespace kadam::launch
