// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <launch/session.hpp>
#include <plan/figures.hpp>

#include <optional>
#include <string>
#include <vector>

namespace kadam::plan_program {

/// The command line of kadam-plan as text; an empty text: the option was not given.
struct CommandLine {
  std::string machine;
  std::string save;
  std::string parameters;
  std::string compute;
  std::string steps;
  std::string ranks;
  std::string rate;
  std::string latency;
  std::string message_cost;
  std::string ranks_per_node;
  std::string node_rate;
  std::string node_latency;
  std::string memory;
  std::string device_memory;
  std::optional<double> backward_overlap;
  std::optional<double> background_overlap;
  std::optional<std::size_t> piece_bytes;
  std::string levels;
  std::optional<double> warmup;
  std::string density;
  std::string background_steps;
  std::string bits;
  std::string exchange;
  std::vector<std::string> assignments;
  std::string plot;
  bool json = false;
};

/// Reads the command line into `line`. Returns an exit code if the program ends here (--help, --version, an
/// error); nothing: go on.
[[nodiscard]] std::optional<int> parse(launch::Session& session, int argc, char** argv, CommandLine& line);

/// Writes the figures of the command line (network, machine, steps) into `figures`, over those that are
/// there. Errors: launch::UsageError.
void apply(const CommandLine& line, Figures& figures);

}  // namespace kadam::plan_program
