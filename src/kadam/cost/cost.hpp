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

/// The classes of traffic, by what bytes are sent for. control: what ranks agree on; dense: exact means;
/// compressed: codes; sparse: selected entries; background: what travels while the program computes; node:
/// all bytes that stay inside a node because exchanges have two levels.
enum class Traffic : std::uint8_t { control, dense, compressed, sparse, background, node };
inline constexpr std::size_t traffic_classes = 6;

/// Memory per rank that an optimizer holds, beside parameters and gradient, in bytes.
struct MemoryUse {
  std::size_t state_bytes = 0;      ///< the state that a checkpoint saves, in its format in memory
  std::size_t workspace_bytes = 0;  ///< messages and partial results

  MemoryUse& operator+=(const MemoryUse& other) {
    state_bytes += other.state_bytes;
    workspace_bytes += other.workspace_bytes;
    return *this;
  }
};

/// Who sends what to whom: a piece for each other rank, or one piece for all of them.
enum class Pattern : std::uint8_t { all_to_all, all_gather };

/// One rank's part in a collective exchange. In two levels Traffic::node goes to the ranks of its node, and
/// all other traffic to the ranks with its place in other nodes, unless has_one_level. With one level all
/// goes to all ranks.
struct Transfer {
  Pattern pattern = Pattern::all_to_all;
  Traffic traffic = Traffic::dense;
  std::size_t bytes = 0;  ///< that the rank sends to all others together, as Communicator counts them
  /// Whether every rank exchanges with every other one also in two levels.
  bool has_one_level = false;
  /// The least number of messages that each receiver gets, however short they are.
  std::int64_t least_messages = 1;
};

/// The cost of a collective to a rank: one call, and the memory that it holds, known from its layout before
/// anything is allocated.
struct Cost {
  std::vector<Transfer> transfers;  ///< one after the other
  std::vector<Work> work;
  MemoryUse memory;

  /// The bytes of all transfers of one class of traffic.
  [[nodiscard]] std::size_t bytes(Traffic traffic) const {
    std::size_t sum = 0;
    for (const Transfer& transfer : transfers) sum += transfer.traffic == traffic ? transfer.bytes : 0;
    return sum;
  }
};

/// The computation during which an exchange travels, so that ranks need not wait for it.
enum class Hiding : std::uint8_t {
  nothing,
  backward,    ///< the backward pass: finished layers are sent while others compute; and its own kernels
  pieces,      ///< its own kernels: one piece is sent while others are encoded, reduced and decoded
  background,  ///< all that the program computes: the result is needed some steps later
};

/// An exchange of a phase, at every step t with (t - after) mod every = 0.
struct PlannedExchange {
  Hiding hiding = Hiding::nothing;
  std::vector<Transfer> transfers;  ///< one after the other
  std::int64_t every = 1;
  std::int64_t after = 0;
  /// With Hiding::background: after how many steps the result is needed; 0: when the next exchange begins.
  std::int64_t wanted_after = 0;
};

/// How many steps of a run are of one phase.
struct StepCount {
  double all = 0.0;
  double settled = 0.0;  ///< those of them that come after the warm-up of the run
};

/// A phase of an algorithm: what a rank computes and sends in one of its steps.
struct StepPhase {
  std::string name;  ///< StepResult::phase
  std::vector<Work> work;
  std::vector<PlannedExchange> exchanges;
  /// Whether ranks first tell each other that their gradients are finite, in a few bytes that nothing hides.
  bool agrees = true;
  /// count(steps): the steps of this phase in a run of `steps` steps. The default, all of them, is for an
  /// algorithm with one phase.
  std::function<StepCount(std::int64_t)> count = [](std::int64_t steps) {
    return StepCount{static_cast<double>(steps), static_cast<double>(steps)};
  };

  /// Adds the work and the transfers of a collective that is called in every step of the phase. Its memory is
  /// not added: see AlgorithmCost.
  void add(const Cost& collective, Hiding hiding);
  /// The same for one call in when.every steps: a step has 1/every of its work. Ignores when.transfers.
  void add(const Cost& collective, const PlannedExchange& when);
  /// Adds a kernel's work in a step of the phase.
  void add(const Work& one) { work.push_back(one); }
};

/// The cost of an algorithm: its phases, and the memory that it holds in all of them.
struct AlgorithmCost {
  std::vector<StepPhase> phases;
  MemoryUse memory;
};

/// StepPhase::count of a phase that is the warm-up: the first `until` steps of a run.
[[nodiscard]] std::function<StepCount(std::int64_t)> steps_until(std::int64_t until);
/// StepPhase::count of a phase that follows a warm-up of `until` steps.
[[nodiscard]] std::function<StepCount(std::int64_t)> steps_after(std::int64_t until);

}  // namespace kadam
