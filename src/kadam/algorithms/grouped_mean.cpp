// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/grouped_mean.hpp>

namespace kadam {

GroupedMean::GroupedMean(const ExecutionSpace& exec, const CodecOptions& codec, Communicator& communicator,
                         std::int64_t elements, const ResolvedGroups& groups,
                         const std::vector<ElementRange>& left_out)
    : compressed_(exec, make_quantiser(codec.code, codec.scale), communicator, elements, codec.block),
      kept_(exec, communicator, groups.dense),
      coordinates_(exec, elements, left_out) {}

StepPhase GroupedMean::phase(const char* name, const CodecOptions& codec, const Problem& problem,
                             MemoryUse& use) {
  const CompressedMeanLayout layout(problem.ranks, make_quantiser(codec.code, codec.scale),
                                    problem.elements(), codec.block);
  const Cost compressed = layout.cost();
  const Cost kept = dense_subset_cost(problem.ranks, problem.groups.dense);
  use += compressed.memory;
  use += kept.memory;
  use.workspace_bytes += CompressedCoordinates::memory_bytes(problem.elements());
  StepPhase phase;
  phase.name = name;
  phase.add({cost::check, problem.all()});
  phase.add(compressed, Hiding::pieces);
  phase.add(kept, Hiding::nothing);
  phase.add(layout.decoding());
  return phase;
}

}  // namespace kadam
