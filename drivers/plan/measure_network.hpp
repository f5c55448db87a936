// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/plan/network.hpp>

#include <plan/node_levels.hpp>

namespace kadam::plan_program {

/// What is solved for, from three kinds of exchanges.
struct ExchangeTimes {
  int ranks = 1;
  double pair_seconds = 0.0;   ///< of an empty exchange between two
  double empty_seconds = 0.0;  ///< between all
  double bytes = 0.0;          ///< that each rank sends in an exchange that is long enough to tell a rate
  double long_seconds = 0.0;
};

/// pair = latency + message; empty = latency + (n - 1) message, where n > 2; with two ranks a tenth of the
/// pair's time is taken for the message.
void set_latency(const ExchangeTimes& times, double& latency_seconds, double& message_seconds);
/// bytes / (long - empty), bytes per second of each rank.
[[nodiscard]] double rate_of(const ExchangeTimes& times);

/// Measures the links between nodes and the memory inside them, all ranks at once. What there is not (one
/// node, one rank on each) stays as it is; on one node the link rate stays 0. Collective. Takes at most
/// about 3 seconds on any network that is faster than 1 Mbit/s.
void measure_network(Communicator& communicator, const NodeLevels& levels, plan::Network& network);

}  // namespace kadam::plan_program
