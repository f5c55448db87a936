// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <launch/session.hpp>
#include <plan/figures.hpp>

#include <optional>
#include <string>
#include <vector>

namespace kadam::plan_program {

/// The command line, as text; an empty one was not given.
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

/// The exit code when the program is to end here.
[[nodiscard]] std::optional<int> parse(launch::Session& session, int argc, char** argv, CommandLine& line);

/// What the command line says of network, machine and steps, over what is there.
/// Errors: launch::UsageError.
void apply(const CommandLine& line, Figures& figures);

}  // namespace kadam::plan_program
