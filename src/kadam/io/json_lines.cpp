// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/host_file.hpp>
#include <kadam/io/json_lines.hpp>

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace kadam::io {
namespace {

nlohmann::ordered_json to_json(const MetricValue& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    return std::isfinite(*number) ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  return std::get<std::string>(value);
}

std::string lines_up_to(const std::filesystem::path& path, std::int64_t last_step) {
  std::ifstream file(path);
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json metrics = nlohmann::json::parse(line, nullptr, false);
    const bool counts =
        metrics.is_object() && metrics.contains("step") && metrics["step"].is_number_integer();
    if (counts && metrics["step"].get<std::int64_t>() <= last_step) kept += line + "\n";
  }
  return kept;
}

}  // namespace

JsonLinesWriter::JsonLinesWriter(const std::filesystem::path& path, std::int64_t last_step) : path_(path) {
  if (std::filesystem::is_regular_file(path)) {
    detail::HostFileWriter kept(path);
    kept.write(lines_up_to(path, last_step));
    kept.commit();
  }
  stream_.open(path, std::ios::app);
  if (!stream_) throw std::runtime_error(path.string() + ": cannot be written: " + std::strerror(errno));
}

JsonLinesWriter::JsonLinesWriter(const std::filesystem::path& path) : path_(path), stream_(path) {
  if (!stream_) throw std::runtime_error(path.string() + ": cannot be written: " + std::strerror(errno));
}

void JsonLinesWriter::write(const Metrics& metrics) {
  nlohmann::ordered_json line = nlohmann::ordered_json::object();
  for (const auto& [name, value] : metrics) line[name] = to_json(value);
  stream_ << line.dump() << std::endl;
  if (!stream_) throw std::runtime_error(path_.string() + ": writing failed: " + std::strerror(errno));
}

}  // namespace kadam::io
