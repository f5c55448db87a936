// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <train/run_summary.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace kadam::train {

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

/// Writes run.json: the facts, and when and where it was started. If the run goes on, what the file says of
/// earlier starts stays. Errors: std::runtime_error where it cannot be written.
void open_run_record(const std::filesystem::path& file, const RunFacts& facts,
                     const Communicator& communicator);
/// Adds the result.
void close_run_record(const std::filesystem::path& file, const RunSummary& result);

}  // namespace kadam::train
