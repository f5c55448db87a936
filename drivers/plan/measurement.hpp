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

/// Communicators of the two levels: inside a node, and between nodes.
struct NodeLevels {
  std::shared_ptr<Communicator> node;    ///< ranks that share this node's memory
  std::shared_ptr<Communicator> across;  ///< one rank of each node: all with this rank's number in its node
  std::shared_ptr<Communicator> pair;    ///< the first two ranks of `across`; this rank alone on all others
  bool equal_nodes = true;               ///< all nodes have the same number of ranks
};

/// Asks MPI which ranks share memory. Collective, by all ranks of the program.
[[nodiscard]] NodeLevels find_node_levels(Communicator& communicator);

/// Time of an exchange in which each rank sends `bytes` to all others together.
struct TimedExchange {
  double bytes = 0.0;
  double seconds = 0.0;
};

/// Measured times of the exchanges of one level, from which fit() makes its figures.
struct ExchangeTimes {
  int ranks = 1;
  double pair_seconds = 0.0;          ///< of an empty exchange between two ranks; 0: not measured
  double empty_seconds = 0.0;         ///< of an empty exchange between all
  std::vector<TimedExchange> longer;  ///< exchanges between all, longer and longer
};

/// The figures of one level that transfer_seconds() uses.
struct WireFigures {
  double latency_seconds = 0.0;
  double message_seconds = 0.0;
  double bytes_per_second = 0.0;  ///< of each rank, while all of them send
};

/// Fits the figures of a level:
///
///   seconds = latency + (n - 1) message + bytes / rate
///
/// 1 / rate is the slope between the two longest exchanges. latency + (n - 1) message fits all exchanges best
/// with this slope, and is at least empty_seconds. message is (empty_seconds - pair_seconds) / (n - 2); with
/// two ranks, or without pair_seconds, pair_seconds / 10.
[[nodiscard]] WireFigures fit(const ExchangeTimes& times);

/// Measures the links between nodes and the memory inside them, all ranks at once, and writes the results of
/// rank 0 into figures.network and figures.known. A level that does not exist (one node, or one rank on each)
/// keeps its figures. Collective. Takes at most about 3 seconds on any network that is faster than 1 Mbit/s.
void measure_network(Communicator& communicator, const NodeLevels& levels, Figures& figures);

/// Measures the kernels of kadam-bench on all ranks at once, as in training: ranks of one node share its
/// memory. The mean over ranks counts. Vectors are longer than caches: 16 MiB each, of a node's ranks
/// together 32 MiB or more. Collective. Takes 1 to 3 seconds on an idle CPU.
[[nodiscard]] plan::KernelCosts measure_kernels(Communicator& communicator, int ranks_on_node);

/// Seconds per element of a kernel of kadam-bench by its name.
using Timings = std::map<std::string, double, std::less<>>;
/// The costs of a plan's kernels, from the timings of kadam-bench. Errors: std::logic_error for a name that
/// `timings` lacks.
[[nodiscard]] plan::KernelCosts costs_of(const Timings& timings);

}  // namespace kadam::plan_program
