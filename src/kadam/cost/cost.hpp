// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/cost/kernels.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kadam {

/// What bytes are sent for; `node`: all that stays inside a node because exchanges have two levels.
enum class Traffic : std::uint8_t { control, dense, compressed, sparse, background, node };
inline constexpr std::size_t traffic_classes = 6;

/// Memory per rank that an optimizer holds, beside parameters and gradient, in bytes.
struct MemoryUse {
  std::size_t state_bytes = 0;      ///< what a checkpoint holds
  std::size_t workspace_bytes = 0;  ///< messages and partial results

  MemoryUse& operator+=(const MemoryUse& other) {
    state_bytes += other.state_bytes;
    workspace_bytes += other.workspace_bytes;
    return *this;
  }
};

/// Who sends what to whom: a piece for each other rank, or one piece for all of them.
enum class Pattern : std::uint8_t { all_to_all, all_gather };

/// One rank's part in a collective exchange: of Traffic::node inside its node, else with the ranks of other
/// nodes, or with all.
struct Transfer {
  Pattern pattern = Pattern::all_to_all;
  Traffic traffic = Traffic::dense;
  std::size_t bytes = 0;  ///< that the rank sends to all others together, as Communicator counts them
  /// In two levels, too: every rank exchanges with every other one, those of its own node as well.
  bool has_one_level = false;
};

/// What a collective costs a rank in one call: known from its layout, before anything is allocated.
struct Cost {
  std::vector<Transfer> transfers;  ///< one after the other
  std::vector<Work> work;
  MemoryUse memory;

  /// Those of one class of traffic.
  [[nodiscard]] std::size_t bytes(Traffic traffic) const {
    std::size_t sum = 0;
    for (const Transfer& transfer : transfers) sum += transfer.traffic == traffic ? transfer.bytes : 0;
    return sum;
  }
};

/// What an exchange can hide behind.
enum class Hiding : std::uint8_t {
  nothing,
  backward,    ///< a gradient's: layers that are done are sent while others compute; and as pieces
  pieces,      ///< one piece is sent while others are encoded, reduced and decoded
  background,  ///< everything: its result is wanted some steps later
};

/// Transfers one after the other, at every step t with (t - after) mod every = 0.
struct PlannedExchange {
  Hiding hiding = Hiding::nothing;
  std::vector<Transfer> transfers;
  std::int64_t every = 1;
  std::int64_t after = 0;
  /// Of the background: the steps until its result is wanted; 0: until the next exchange.
  std::int64_t wanted_after = 0;
};

/// How many steps of a run are of one kind, and how many of these come after its warm-up.
struct StepCount {
  double all = 0.0;
  double settled = 0.0;
};

/// The steps of one kind: what a rank computes and sends in one of them.
struct StepPhase {
  std::string name;  ///< as in StepResult
  std::vector<Work> work;
  std::vector<PlannedExchange> exchanges;
  /// Ranks first tell each other whether their gradients are finite, in a few bytes that nothing hides.
  bool agrees = true;
  /// Of a run of so many steps; all of them where an algorithm has one phase.
  std::function<StepCount(std::int64_t)> count = [](std::int64_t steps) {
    return StepCount{static_cast<double>(steps), static_cast<double>(steps)};
  };

  /// Computes what the collective does in each of these steps; sends what it sends.
  void add(const Cost& collective, Hiding hiding);
  /// The same once in so many steps.
  void add(const Cost& collective, const PlannedExchange& when);
  void add(const Work& one) { work.push_back(one); }
};

/// What an algorithm costs: its phases, and what it holds.
struct AlgorithmCost {
  std::vector<StepPhase> phases;
  MemoryUse memory;
};

/// A phase of the first `until` steps, and one of those that follow.
[[nodiscard]] std::function<StepCount(std::int64_t)> steps_until(std::int64_t until);
[[nodiscard]] std::function<StepCount(std::int64_t)> steps_after(std::int64_t until);

}  // namespace kadam
