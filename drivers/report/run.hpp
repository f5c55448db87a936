// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/step_timeline.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kadam::report {

/// Numbers by the name of their field. What is null in a file is not in it.
using Numbers = std::map<std::string, double>;

/// Nothing where there is no such number.
[[nodiscard]] inline std::optional<double> number_of(const Numbers& numbers, const std::string& name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? std::nullopt : std::optional<double>(found->second);
}

/// A line of metrics.jsonl.
struct Line {
  std::int64_t step = 0;
  Numbers numbers;
};

/// A warning of the optimizer, as long as it was given.
struct Caution {
  std::string kind;
  std::string text;  ///< the last one's
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::int64_t lines = 0;
};

/// One start of a run: the first, or one that went on from a checkpoint.
struct Start {
  std::map<std::string, std::string> texts;        ///< time, host, version ...
  std::map<std::string, std::string> environment;  ///< variables that were set
  std::vector<std::string> command;
  std::vector<std::string> repetition;
  std::int64_t ranks = 0;
  std::int64_t threads = 0;
  std::int64_t after_step = 0;
};

/// What the files of one run say. What they do not say is empty.
struct Run {
  std::filesystem::path folder;
  std::string optimizer;
  std::string label;  ///< the optimizer, and what tells it from others of the same name
  std::string model;
  std::string data;
  Numbers facts;                  ///< parameters, steps ... of run.json
  Numbers result;                 ///< of run.json or comparison.json: only of a run that came to its end
  std::vector<Line> training;     ///< lines with losses, null ones included
  std::vector<Line> evaluations;  ///< lines with held-out losses
  std::vector<Caution> cautions;
  std::vector<Start> starts;
  std::string configuration;  ///< config.toml
  std::optional<StepTimeline> timeline;
  std::vector<std::string> remarks;  ///< what is missing, in sentences

  [[nodiscard]] bool is_finished() const { return !result.empty(); }
  [[nodiscard]] std::int64_t steps() const { return training.empty() ? 0 : training.back().step; }
};

}  // namespace kadam::report
