// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/pipelined_gather.hpp>

namespace kadam {

void pipelined_gather(const ExecutionSpace& exec, Phases& phases, const std::vector<Slice>& slices,
                      std::size_t message_bytes, Communicator& communicator, Exchange& exchange,
                      const GatherSteps& steps) {
  const int ranks = communicator.size();
  const int rank = communicator.rank();
  const auto of_rank = [&](int r, const Slice& slice) -> Piece {
    return {static_cast<std::size_t>(r) * message_bytes + slice.sent.offset_bytes, slice.sent.bytes};
  };
  for (std::size_t s = 0; s < slices.size(); ++s) {
    for (int k = 1; k < ranks; ++k) {
      const int from = (rank + ranks - k) % ranks;
      exchange.receive(0, from, s, of_rank(from, slices[s]),
                       s * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(from));
    }
  }
  std::vector<int> missing(slices.size(), ranks);
  std::size_t open = slices.size();
  const auto count = [&](std::size_t s) {
    if (--missing[s] > 0) return;
    steps.arrived(slices[s]);
    --open;
  };
  const auto take = [&](const std::vector<std::size_t>& arrived) {
    for (const std::size_t id : arrived) count(id / static_cast<std::size_t>(ranks));
  };
  for (std::size_t s = 0; s < slices.size(); ++s) {
    steps.encode(slices[s]);
    exchange.send_to_others(0, s, of_rank(rank, slices[s]));
    count(s);
    take(exchange.arrivals(false));
  }
  while (open > 0 || exchange.sending() > 0) {
    const std::vector<std::size_t>* arrived = nullptr;
    {
      const auto scope = phases.enter(exec, Phase::exchange);
      arrived = &exchange.arrivals(true);
    }
    take(*arrived);
  }
}

}  // namespace kadam
