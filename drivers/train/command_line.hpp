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

/// The command line of kadam-train as text: values as they were typed, not yet checked against each other.
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
  std::vector<std::string> stop_on;  ///< empty: TERM and USR1, with --checkpoint
  CheckpointOptions checkpoints;
  bool join = false;
  bool trace = false;
  std::vector<std::int64_t> trace_steps;
  std::string record;
};

/// Reads the command line into `line`. Returns an exit code if the program ends here (--help, --version, an
/// error), the same on all ranks; nothing: go on.
[[nodiscard]] std::optional<int> parse(launch::Session& session, int argc, char** argv, CommandLine& line);

/// The checkpoint, snapshot and join options of a command line, checked. Errors: UsageError.
[[nodiscard]] CheckpointOptions checkpoint_options(const CommandLine& line);
/// Seconds without a step after which the watchdog ends the job; 0: no watchdog, as always with snapshots.
/// Errors: UsageError.
[[nodiscard]] double watchdog_seconds(const CommandLine& line);
/// Throws UsageError if --trace or --trace-steps cannot be honoured: another Kokkos tool is loaded, or the
/// options contradict each other.
void require_trace(const CommandLine& line);
/// Throws UsageError if --record cannot be honoured: with --compare or --checkpoint, or into a folder that
/// holds a recording.
void require_record(const CommandLine& line);

/// Command line that repeats the run from the config.toml in its results folder.
[[nodiscard]] std::vector<std::string> repetition_of(const std::string& program,
                                                     const std::filesystem::path& folder,
                                                     const CommandLine& line);

}  // namespace kadam::train
