// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/comm/socket_communicator.hpp>
#include <support/wires.hpp>

#include <mpi.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam::test {

/// Socket options for a test: the loopback, and a timeout of 20 s.
inline SocketOptions socket_options() {
  SocketOptions options;
  options.exchange.timeout_seconds = 20.0;
  options.host = "127.0.0.1";
  return options;
}

/// Connects the first `old_ranks` ranks of MPI_COMM_WORLD over TCP; the others are newcomers that know their
/// doors. The constructor is collective on MPI_COMM_WORLD.
struct Newcomers {
  explicit Newcomers(int old_ranks) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm mine = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank < old_ranks ? 0 : MPI_UNDEFINED, rank, &mine);
    if (mine != MPI_COMM_NULL) {
      MpiOptions alone;
      alone.allow_alone = true;
      old = make_socket_communicator(*make_mpi_communicator(mine, alone), socket_options());
      MPI_Comm_free(&mine);
    }
    for (std::string& door : gather_texts_by_mpi(old ? old->door() : "")) {
      if (!door.empty()) doors.push_back(std::move(door));
    }
  }

  /// Asks the old ranks to let this newcomer in; see join_socket_communicator().
  [[nodiscard]] std::shared_ptr<Communicator> join(const std::string& kind) const {
    return join_socket_communicator(doors, kind, socket_options());
  }

  std::shared_ptr<Communicator> old;  ///< null: this rank is a newcomer
  std::vector<std::string> doors;     ///< addresses of the old ranks
};

}  // namespace kadam::test
