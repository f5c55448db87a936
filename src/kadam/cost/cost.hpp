// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/cost/kernels.hpp>
#include <kadam/cost/traffic.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam {

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

}  // namespace kadam
