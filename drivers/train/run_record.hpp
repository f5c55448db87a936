// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <train/run_statistics.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kadam::train {

/// Two command lines, word by word.
struct Commands {
  std::vector<std::string> given;       ///< started this program
  std::vector<std::string> repetition;  ///< repeats the run from the config.toml that it writes
};

/// Facts about a run that are known before its first step, for run.json.
struct RunFacts {
  std::string optimizer;
  std::string model;
  std::string data;
  std::int64_t parameters = 0;
  std::int64_t steps = 0;
  std::int64_t examples_per_step = 0;  ///< of all ranks
  double dense_bytes_per_step = 0.0;   ///< of a dense float32 mean of the gradients
  std::int64_t after_step = 0;         ///< the step after which this start goes on; 0: from the beginning
  Commands commands;
};

/// Results of a run that has ended.
struct RunSummary {
  std::string algorithm;
  double training_loss = 0.0;              ///< nats; mean over ranks and the last tenth of the steps
  double held_out_loss = 0.0;              ///< nats; NaN if nothing is held out
  double accuracy = 0.0;                   ///< held-out, 0 to 1; NaN if nothing is held out
  double bytes_per_step = 0.0;             ///< sent by rank 0, mean over the steps of the last phase
  double background_bytes_per_step = 0.0;  ///< of these: sent in the background
  double mean_bytes_per_step = 0.0;        ///< bytes_per_step over all steps
  double dense_bytes_per_step = 0.0;       ///< of a dense float32 mean of the gradients
  StepSeconds seconds;                     ///< of rank 0, mean over the steps of the last phase
  double wall_seconds = 0.0;
  std::int64_t steps = 0;
  std::int64_t skipped_steps = 0;  ///< of these: a gradient was NaN or infinite on some rank
  bool was_stopped = false;  ///< a signal or --walltime ended it before its last step, after a checkpoint
};

/// Writes run.json: the facts, and a list of starts (time, host, ranks, command), to which it adds this one.
/// The list of an existing file is kept if the run goes on (facts.after_step > 0). Called by rank 0. Errors:
/// std::runtime_error where the file cannot be written.
void open_run_record(const std::filesystem::path& file, const RunFacts& facts,
                     const Communicator& communicator);
/// Adds the result of the run to run.json. Errors: as open_run_record().
void close_run_record(const std::filesystem::path& file, const RunSummary& result);

/// The result of a run as comparison.json and run.json hold it.
[[nodiscard]] nlohmann::ordered_json to_json(const RunSummary& run);

/// Table of the runs for people: losses, accuracy, bytes per step (and the factor by which they are fewer
/// than dense ones), milliseconds per step.
[[nodiscard]] std::string comparison_table(const std::vector<RunSummary>& runs);

/// Writes the runs for programs: comparison.json.
void write_comparison_json(const std::filesystem::path& file, const std::vector<RunSummary>& runs);

}  // namespace kadam::train
