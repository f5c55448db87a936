// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/config.hpp>

#include <algorithm>
#include <plan/node_levels.hpp>
#include <vector>

#ifdef KADAM_ENABLE_MPI
#include <kadam/comm/mpi_communicator.hpp>

#include <mpi.h>
#endif

namespace kadam::plan_program {

#ifdef KADAM_ENABLE_MPI
namespace {

/// Ranks of one colour. The Communicator keeps a duplicate.
std::shared_ptr<Communicator> of_colour(int colour, int rank) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, colour, rank, &part);
  auto communicator = make_mpi_communicator(part);
  MPI_Comm_free(&part);
  return communicator;
}

std::shared_ptr<Communicator> of_this_node(int rank) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &part);
  auto communicator = make_mpi_communicator(part);
  MPI_Comm_free(&part);
  return communicator;
}

}  // namespace

NodeLevels find_node_levels(Communicator& communicator) {
  NodeLevels levels;
  const int rank = communicator.rank();
  levels.node = of_this_node(rank);
  levels.across = of_colour(levels.node->rank(), rank);
  // Colours: the pair of each local number, and a colour of its own for each rank that is in none.
  const bool paired = levels.across->rank() < 2;
  levels.pair = of_colour(paired ? levels.node->rank() : communicator.size() + rank, rank);
  const auto on_node = static_cast<double>(levels.node->size());
  const std::vector<double> all = communicator.all_gather_values({&on_node, 1});
  levels.equal_nodes = std::all_of(all.begin(), all.end(), [&](double other) { return other == on_node; });
  return levels;
}

#else

NodeLevels find_node_levels(Communicator& /*communicator*/) {
  return {Communicator::self(), Communicator::self(), Communicator::self(), true};
}

#endif

}  // namespace kadam::plan_program
