// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <fstream>
#include <stdexcept>
#include <train/run_folder.hpp>

namespace kadam::train {

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
  const std::filesystem::path file = folder / "config.toml";
  std::ofstream stream(file);
  stream << toml;
  if (!stream.flush()) throw std::runtime_error(file.string() + ": cannot be written");
}

}  // namespace kadam::train
