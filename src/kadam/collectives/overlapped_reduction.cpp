// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/overlapped_reduction.hpp>

#include <algorithm>
#include <utility>

namespace kadam {

OverlappedReduction::OverlappedReduction(const ExecutionSpace& exec, Communicator& communicator,
                                         Traffic traffic, const std::array<Lane, 2>& lanes,
                                         const SlicedChunks& slices, ReductionRun::Replies replies,
                                         ReductionSteps steps)
    : exec_(exec),
      vector_(lanes.front().send.data()),
      slices_(slices),
      steps_(std::move(steps)),
      exchange_(exec, communicator, traffic,
                {lanes.data(), replies == ReductionRun::Replies::to_all ? 2U : 1U}),
      run_(slices, communicator.rank(), replies, exchange_, steps_),
      rank_(communicator.rank()) {}

void OverlappedReduction::ready(const ExecutionSpace& exec, const ElementRange& range) {
  // What is sent waits for exec_ alone.
  if (exec != exec_) exec.fence("kadam::OverlappedReduction::ready");
  const ElementRange complete = ready_.add(range);
  const int ranks = slices_.ranks();
  for (int k = 1; k <= ranks; ++k) send_complete((rank_ + k) % ranks, range, complete);
  poll();
}

/// Of a chunk's slices, those that have some of the added elements and are complete with them.
void OverlappedReduction::send_complete(int chunk, const ElementRange& added, const ElementRange& complete) {
  const std::vector<Slice>& slices = slices_.of_chunk(chunk);
  const auto first = std::partition_point(
      slices.begin(), slices.end(), [&](const Slice& slice) { return slice.elements.end <= added.begin; });
  for (auto slice = first; slice != slices.end() && slice->elements.begin < added.end; ++slice) {
    const bool is_complete = slice->elements.begin >= complete.begin && slice->elements.end <= complete.end;
    if (is_complete) run_.encode(chunk, static_cast<std::size_t>(slice - slices.begin()));
  }
}

void OverlappedReduction::poll() {
  while (run_.advance(ReductionRun::MayLeave::replies) == ReductionRun::State::working) continue;
}

void OverlappedReduction::finish(const ExecutionSpace& exec, Phases& phases) {
  if (exec != exec_) exec.fence("kadam::OverlappedReduction::finish");
  run_reduction(exec_, phases, run_);
}

}  // namespace kadam
