// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <plan/kernel_costs.hpp>
#include <plan/network.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kadam::plan {

/// A kernel over so many elements, in the mean of the steps of a phase.
struct Work {
  Kernel kernel = Kernel::check;
  double elements = 0.0;
};

/// What an exchange can hide behind.
enum class Hiding : std::uint8_t {
  nothing,
  backward,    ///< a gradient's: layers that are done are sent while others compute; and as pieces
  pieces,      ///< one piece is sent while others are encoded, reduced and decoded
  background,  ///< everything: its result is wanted some steps later
};

/// Transfers one after the other, once in so many steps.
struct Exchange {
  Traffic traffic = Traffic::dense;
  Hiding hiding = Hiding::nothing;
  std::vector<Transfer> transfers;
  std::int64_t every = 1;
  /// What ranks of one node exchange densely before and after, where there are two levels.
  std::size_t node_bytes_per_element = sizeof(float);
  /// Of the background: the steps until its result is wanted; 0: until the next exchange.
  std::int64_t wanted_after = 0;

  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Transfer& transfer : transfers) sum += transfer.bytes;
    return sum;
  }
};

/// The steps of one kind: what rank 0, whose chunk is the longest, computes and sends in one of them.
struct StepPhase {
  std::string name;     ///< as in StepResult
  double share = 1.0;   ///< of all steps of a run
  bool settled = true;  ///< after the warm-up
  std::vector<Work> work;
  std::vector<Exchange> exchanges;

  /// Bytes per step, in the mean.
  [[nodiscard]] double bytes() const {
    double sum = 0.0;
    for (const Exchange& exchange : exchanges) {
      sum += static_cast<double>(exchange.bytes()) / static_cast<double>(exchange.every);
    }
    return sum;
  }
};

}  // namespace kadam::plan
