// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/pipelined_reduction.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <array>

namespace kadam {

/// A reduction that starts while its vector is still computed: slices leave when they are complete.
///
/// In which order they leave, and on which ranks they leave early, changes no result: see ReductionRun. Moved
/// on by calls of ready() and poll() alone. Destroyed before it is finished, it gives up what is under way
/// and waits for nobody.
class OverlappedReduction {
 public:
  /// Lanes as of ReductionRun, the first sending from the vector itself. The slices have to live on.
  OverlappedReduction(const ExecutionSpace& exec, Communicator& communicator, Traffic traffic,
                      const std::array<Lane, 2>& lanes, const SlicedChunks& slices,
                      ReductionRun::Replies replies, ReductionSteps steps);
  OverlappedReduction(const OverlappedReduction&) = delete;
  OverlappedReduction& operator=(const OverlappedReduction&) = delete;

  /// These elements are final once exec has done what is enqueued on it: sends the slices that are complete
  /// now. Waits for exec if there are any, for no other rank.
  void ready(const ExecutionSpace& exec, const ElementRange& range);
  /// Does what can be done without waiting.
  void poll();
  /// Sends what has not left, all of which is final now, and waits for everything.
  void finish(const ExecutionSpace& exec, Phases& phases);
  /// Where the vector lies.
  [[nodiscard]] const std::byte* vector() const { return vector_; }

 private:
  void send_complete(int chunk, const ElementRange& added, const ElementRange& complete);

  ExecutionSpace exec_;
  const std::byte* vector_;
  const SlicedChunks& slices_;
  ReductionSteps steps_;
  Exchange exchange_;
  ReductionRun run_;
  ElementSet ready_;
  int rank_;
};

}  // namespace kadam
