// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <launch/session.hpp>
#include <train/save_times.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kadam::train {

/// The words of a command line of kadam-train, as they were given.
struct CommandLine {
  std::string config;
  std::vector<std::string> assignments;
  std::vector<std::string> compare;
  std::string run;
  std::string checkpoint;
  std::string every;
  std::string walltime;
  std::optional<std::string> watchdog;
  std::string on_failure = "stop";
  std::vector<std::string> stop_on = {"TERM", "USR1"};
  CheckpointOptions checkpoints;
  bool join = false;
  bool trace = false;
  std::vector<std::int64_t> trace_steps;
  std::string record;
};

/// Returns the exit code when the program is to end here, on all ranks the same.
[[nodiscard]] std::optional<int> parse(launch::Session& session, int argc, char** argv, CommandLine& line);

/// What the words mean. Errors: UsageError.
[[nodiscard]] CheckpointOptions checkpoint_options(const CommandLine& line);
/// 0: there is none. Errors: UsageError.
[[nodiscard]] double watchdog_seconds(const CommandLine& line);
/// Throws UsageError if a trace is wanted that cannot be had.
void require_trace(const CommandLine& line);
/// Throws UsageError if a recording is wanted that cannot be had.
void require_record(const CommandLine& line);

/// The same run again, from the configuration that lies with the results.
[[nodiscard]] std::vector<std::string> repetition_of(const std::string& program,
                                                     const std::filesystem::path& folder,
                                                     const CommandLine& line);

}  // namespace kadam::train
