// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <plan/figures.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kadam::plan_program {

/// The ranks of the program, level by level.
struct NodeLevels {
  std::shared_ptr<Communicator> node;    ///< ranks that share this node's memory
  std::shared_ptr<Communicator> across;  ///< one rank of each node: those with this rank's number in its node
  std::shared_ptr<Communicator> pair;    ///< two of these; of one rank for all others
  bool equal_nodes = true;               ///< every node has as many ranks
};

/// Asks MPI which ranks share memory. Collective, by all ranks of the program.
[[nodiscard]] NodeLevels find_node_levels(Communicator& communicator);

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
void measure_network(Communicator& communicator, const NodeLevels& levels, Figures& figures);

/// Measures the kernels of kadam-bench on all ranks at once, as in training: ranks of one node share its
/// memory. The mean over ranks counts. Vectors are longer than caches: 16 MiB each, of a node's ranks
/// together 32 MiB or more. Collective. Takes 1 to 3 seconds on an idle CPU.
[[nodiscard]] plan::KernelCosts measure_kernels(Communicator& communicator, int ranks_on_node);

/// Seconds per element of a kernel of kadam-bench by its name.
using Timings = std::map<std::string, double, std::less<>>;
/// The kernels of a plan from those of kadam-bench. Errors: std::logic_error for a name that is not there.
[[nodiscard]] plan::KernelCosts costs_of(const Timings& timings);

}  // namespace kadam::plan_program
