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

/// Words of command lines.
struct Commands {
  std::vector<std::string> given;
  std::vector<std::string> repetition;  ///< makes the same runs from what this one writes
};

/// What a run is, and what started it.
struct RunFacts {
  std::string optimizer;
  std::string model;
  std::string data;
  std::int64_t parameters = 0;
  std::int64_t steps = 0;
  std::int64_t examples_per_step = 0;  ///< of all ranks
  double dense_bytes_per_step = 0.0;
  std::int64_t after_step = 0;  ///< that it goes on from
  Commands commands;
};

/// What a finished run was like.
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
  bool was_stopped = false;        ///< by a signal or the clock, saved before its last step
};

/// Writes run.json: the facts, and when and where it was started. If the run goes on, what the file says of
/// earlier starts stays. Errors: std::runtime_error where it cannot be written.
void open_run_record(const std::filesystem::path& file, const RunFacts& facts,
                     const Communicator& communicator);
/// Adds the result.
void close_run_record(const std::filesystem::path& file, const RunSummary& result);

/// What comparison.json and run.json say of a finished run.
[[nodiscard]] nlohmann::ordered_json to_json(const RunSummary& run);

/// The runs as a table for people: losses, accuracy, bytes per step and how many times fewer than dense, and
/// the milliseconds of a step.
[[nodiscard]] std::string comparison_table(const std::vector<RunSummary>& runs);

/// The same for programs: comparison.json.
void write_comparison_json(const std::filesystem::path& file, const std::vector<RunSummary>& runs);

}  // namespace kadam::train
