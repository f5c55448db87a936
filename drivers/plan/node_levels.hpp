// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <memory>

namespace kadam::plan_program {

/// The ranks of the program, level by level.
struct NodeLevels {
  std::shared_ptr<Communicator> node;    ///< ranks that share this node's memory
  std::shared_ptr<Communicator> across;  ///< one rank of each node: those with this rank's number in its node
  std::shared_ptr<Communicator> pair;    ///< two of these; of one rank for all others
  bool equal_nodes = true;               ///< every node has as many ranks
};

/// Asks MPI which ranks share memory. Collective, by all ranks of the program.
[[nodiscard]] NodeLevels find_node_levels(Communicator& communicator);

}  // namespace kadam::plan_program
