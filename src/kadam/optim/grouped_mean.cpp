// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/grouped_mean.hpp>

namespace kadam {

GroupedMean::GroupedMean(const ExecutionSpace& exec, const CodecOptions& codec,
                         const Communicator& communicator, std::int64_t elements,
                         const ResolvedGroups& groups, const std::vector<ElementRange>& left_out)
    : compressed_(exec, make_quantiser(codec.code, codec.scale), communicator, elements, codec.block),
      kept_(exec, communicator, groups.dense),
      coordinates_(exec, elements, left_out) {}

MemoryUse GroupedMean::memory() const {
  return {compressed_.state_bytes(),
          compressed_.workspace_bytes() + kept_.memory_bytes() + coordinates_.memory_bytes()};
}

void GroupedMean::add_traffic(const char* phase, std::vector<PlannedTraffic>& plan) const {
  plan.push_back({phase, Traffic::compressed, compressed_.bytes_sent()});
  plan.push_back({phase, Traffic::dense, kept_.bytes_sent()});
  plan.push_back({phase, Traffic::node, compressed_.node_bytes_sent() + kept_.node_bytes_sent()});
}

}  // namespace kadam
