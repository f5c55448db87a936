// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/json_numbers.hpp>
#include <report/metrics.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace kadam::report {
namespace {

/// What the line warns of, after what was said before it.
void add_cautions(Run& run, const nlohmann::json& line, std::int64_t step) {
  const std::string prefix = "warning_";
  for (const auto& [name, value] : line.items()) {
    if (!name.starts_with(prefix) || !value.is_string()) continue;
    const std::string kind = name.substr(prefix.size());
    auto known = std::find_if(run.cautions.begin(), run.cautions.end(),
                              [&](const Caution& caution) { return caution.kind == kind; });
    if (known == run.cautions.end()) known = run.cautions.insert(known, {kind, "", step, step, 0});
    known->text = value.get<std::string>();
    known->last_step = step;
    ++known->lines;
  }
}

/// False if it is no line of kadam-train.
bool add_line(Run& run, const std::string& text) {
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
  if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) return false;
  if (line.contains("jump")) return false;  // of kadam-insitu, in other units
  Line read{line["step"].get<std::int64_t>(), numbers_of(line)};
  if (line.contains("held_out_loss")) {
    run.evaluations.push_back(std::move(read));
  } else if (line.contains("loss")) {
    add_cautions(run, line, read.step);
    run.training.push_back(std::move(read));
  } else {
    return false;
  }
  return true;
}

}  // namespace

void read_metrics(Run& run) {
  const std::filesystem::path file = run.folder / "metrics.jsonl";
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(file.string() + ": cannot be read");
  std::int64_t unread = 0;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && !add_line(run, line)) ++unread;
  }
  if (unread > 0 && run.training.empty() && run.evaluations.empty()) {
    throw std::runtime_error(fmt::format(
        "{}: expected a JSON object with \"step\" and \"loss\" in each line, as kadam-train writes "
        "them; found none",
        file.string()));
  }
  if (unread > 0) {
    run.remarks.push_back(fmt::format("{} line{} of metrics.jsonl {} not whole and left out.", unread,
                                      unread == 1 ? "" : "s", unread == 1 ? "is" : "are"));
  }
  if (run.training.empty()) run.remarks.emplace_back("No step has been logged.");
}

}  // namespace kadam::report
