// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/comm/exchange.hpp>

#include <functional>

namespace kadam {

/// What a gather does with a slice. Kernels of a step may still run when it returns.
struct GatherSteps {
  std::function<void(const Slice&)> encode;   ///< makes this rank's message of a slice
  std::function<void(const Slice&)> arrived;  ///< the messages of all ranks are there
};

/// Every rank's message goes to all, slice by slice: one is encoded, another decoded, while others travel.
///
/// slices: of the one message, Slice::sent being where it lies in it. Rank r's message lies r times
/// message_bytes behind the start of the lane, on both sides; the own one is made in place. Collective.
void pipelined_gather(const ExecutionSpace& exec, Phases& phases, const std::vector<Slice>& slices,
                      std::size_t message_bytes, Communicator& communicator, Exchange& exchange,
                      const GatherSteps& steps);

}  // namespace kadam
