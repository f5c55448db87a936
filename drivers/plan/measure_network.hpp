// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <plan/network.hpp>
#include <plan/node_levels.hpp>

#include <vector>

namespace kadam::plan_program {

/// An exchange in which each rank sends so many bytes to all others together.
struct TimedExchange {
  double bytes = 0.0;
  double seconds = 0.0;
};

/// What figures are made from.
struct ExchangeTimes {
  int ranks = 1;
  double pair_seconds = 0.0;          ///< of an empty exchange between two ranks; 0: not measured
  double empty_seconds = 0.0;         ///< between all
  std::vector<TimedExchange> longer;  ///< between all, of several lengths
};

/// What transfer_seconds() knows of one level.
struct WireFigures {
  double latency_seconds = 0.0;
  double message_seconds = 0.0;
  double bytes_per_second = 0.0;  ///< of each rank, all of them sending
};

/// seconds = latency + (n - 1) message + bytes / rate: the rate is that between the two longest exchanges,
/// the rest as near to all of them as can be, and no less than an empty one takes. The message is what an
/// empty exchange takes longer between all than between two, or a tenth of that between two, if these are
/// all.
[[nodiscard]] WireFigures fit(const ExchangeTimes& times);

/// Measures the links between nodes and the memory inside them, all ranks at once. What there is not (one
/// node, one rank on each) stays as it is; on one node the link rate stays 0. Collective. Takes at most
/// about 3 seconds on any network that is faster than 1 Mbit/s.
void measure_network(Communicator& communicator, const NodeLevels& levels, plan::Network& network);

}  // namespace kadam::plan_program
