// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <plan/node_levels.hpp>

#include <algorithm>
#include <vector>

namespace kadam::plan_program {

NodeLevels find_node_levels(Communicator& communicator) {
  NodeLevels levels;
  levels.node = communicator.split_by_node();
  levels.across = communicator.split(levels.node->rank());
  // Colours: the pair of each local number, and a colour of its own for each rank that is in none.
  const bool paired = levels.across->rank() < 2;
  levels.pair = communicator.split(paired ? levels.node->rank() : communicator.size() + communicator.rank());
  const auto on_node = static_cast<double>(levels.node->size());
  const std::vector<double> all = communicator.all_gather_values({&on_node, 1});
  levels.equal_nodes = std::all_of(all.begin(), all.end(), [&](double other) { return other == on_node; });
  return levels;
}

}  // namespace kadam::plan_program
