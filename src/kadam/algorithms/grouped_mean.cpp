// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/grouped_mean.hpp>
#include <kadam/kernels/freeze.hpp>
#include <kadam/kernels/on_device.hpp>

namespace kadam {
namespace {

struct IsOutside {
  Vector<ElementRange> ranges;  ///< ascending, without overlap
  KOKKOS_FORCEINLINE_FUNCTION bool operator()(const std::int64_t i) const {
    std::size_t low = 0;  // the first range that ends behind i
    std::size_t high = ranges.extent(0);
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (ranges(middle).end <= i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low == ranges.extent(0) || i < ranges(low).begin;
  }
};

struct HasVarianceAndIsOutside {
  Vector<float> v;
  IsOutside outside;
  KOKKOS_FORCEINLINE_FUNCTION bool operator()(const std::int64_t i) const {
    return v(i) > 0.0F && outside(i);
  }
};

CompressedMeanLayout layout_of(const CodecOptions& codec, const Problem& problem) {
  return CompressedMeanLayout(problem.ranks, make_quantiser(codec.code, codec.scale), problem.elements(),
                              codec.block, codec.errors);
}

/// What is beside the compressed mean.
void add_rest(const Problem& problem, StepPhase& phase, MemoryUse& use) {
  const Cost kept = dense_subset_cost(problem.ranks, problem.groups.dense);
  phase.add(kept, Hiding::nothing);
  use += kept.memory;
  use.workspace_bytes += CompressedCoordinates::memory_bytes(problem.elements());
}

/// The same elements as ascending ranges without overlap.
std::vector<ElementRange> joined(const std::vector<ElementRange>& ranges) {
  ElementSet elements;
  for (const ElementRange& range : ranges) elements.add(range);
  return elements.ranges();
}

}  // namespace

CompressedCoordinates::CompressedCoordinates(const ExecutionSpace& exec, std::int64_t elements,
                                             const std::vector<ElementRange>& dense)
    : elements_(elements),
      dense_(on_device<MemorySpace>("kadam::CompressedCoordinates::dense", joined(dense))) {
  mask_ = allocate<std::uint32_t>(exec, "kadam::CompressedCoordinates::mask",
                                  ActiveMask<MemorySpace>::words_for(elements));
  if (dense_.extent(0) == 0) return;
  fill_active_mask(exec, mask_, elements_, IsOutside{dense_});
  active_.words = mask_;
}

void CompressedCoordinates::require_variance(const ExecutionSpace& exec, const Vector<float>& v) {
  inactive_ = count_zeros(exec, v);
  if (inactive_ == 0 && dense_.extent(0) == 0) {
    active_.words = {};
    return;
  }
  fill_active_mask(exec, mask_, elements_, HasVarianceAndIsOutside{v, IsOutside{dense_}});
  active_.words = mask_;
}

std::vector<ElementRange> still_or_kept_dense(const ResolvedGroups& groups) {
  std::vector<ElementRange> ranges = groups.dense;
  for (const Segment& segment : groups.segments) {
    if (segment.lr_scale == 0.0) ranges.push_back(segment.range);
  }
  return ranges;
}

GroupedMean::GroupedMean(const ExecutionSpace& exec, const CodecOptions& codec, Communicator& communicator,
                         std::int64_t elements, const ResolvedGroups& groups,
                         const std::vector<ElementRange>& left_out)
    : compressed_(exec, make_quantiser(codec.code, codec.scale), communicator, elements, codec.block,
                  codec.errors),
      kept_(exec, communicator, groups.dense),
      coordinates_(exec, elements, left_out) {}

StepPhase GroupedMean::phase(const char* name, const CodecOptions& codec, const Problem& problem,
                             MemoryUse& use) {
  StepPhase phase;
  phase.name = name;
  phase.add({cost::check, problem.all()});
  add(codec, problem, phase, use);
  return phase;
}

std::size_t GroupedMean::message_bytes(const CodecOptions& codec, const Problem& problem) {
  return layout_of(codec, problem).codec().message().total_bytes();
}

void GroupedMean::add(const CodecOptions& codec, const Problem& problem, StepPhase& phase, MemoryUse& use) {
  const CompressedMeanLayout layout = layout_of(codec, problem);
  phase.add(layout.cost(), Hiding::pieces);
  phase.add(layout.decoding());
  use += layout.cost().memory;
  add_rest(problem, phase, use);
}

void GroupedMean::add(const CodecOptions& codec, const Problem& problem, StepPhase& start, StepPhase& finish,
                      const PlannedExchange& when, MemoryUse& use) {
  const CompressedMeanLayout layout = layout_of(codec, problem);
  const Cost cost = layout.cost();
  // Two levels: the mean of a node goes before what travels, the gather in it comes after.
  Cost before;
  before.work = cost.work;
  Cost travelling;
  Cost after;
  for (Transfer transfer : cost.transfers) {
    if (transfer.traffic == Traffic::node) {
      Cost& waited_for = travelling.transfers.empty() ? before : after;
      waited_for.transfers.push_back(transfer);
      continue;
    }
    transfer.traffic = Traffic::background;
    travelling.transfers.push_back(transfer);
  }
  start.add(before, Hiding::nothing);
  start.add(travelling, when);
  finish.add(after, Hiding::nothing);
  finish.add(layout.decoding());
  use += cost.memory;
  add_rest(problem, start, use);
}

}  // namespace kadam
