// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/socket_communicator.hpp>
#include <support/mpi_options.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace kadam::test {

/// The texts of all ranks of MPI_COMM_WORLD, each cut to 255 characters. Collective.
inline std::vector<std::string> gather_texts_by_mpi(const std::string& own) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<std::array<char, 256>> all(static_cast<std::size_t>(ranks));
  std::array<char, 256> text{};
  std::copy_n(own.begin(), std::min<std::size_t>(own.size(), 255), text.begin());
  MPI_Allgather(text.data(), 256, MPI_CHAR, all.data(), 256, MPI_CHAR, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (const auto& one : all) texts.emplace_back(one.data());
  return texts;
}

/// A way to carry messages between the ranks of MPI_COMM_WORLD: MPI or TCP, staged or not.
struct Wire {
  bool is_tcp = false;
  Staging staging = Staging::automatic;

  /// Makes a communicator of all ranks. timeout_seconds: of exchanges; 0: none. connect_seconds: as in
  /// SocketOptions. Collective.
  [[nodiscard]] std::shared_ptr<Communicator> connect(int ranks_per_node = 1, double timeout_seconds = 0.0,
                                                      double connect_seconds = 60.0) const {
    MpiOptions options = mpi_options(staging, ranks_per_node);
    options.exchange.timeout_seconds = timeout_seconds;
    if (!is_tcp) return make_mpi_communicator(MPI_COMM_WORLD, options);
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return make_socket_communicator(rank, ranks, gather_texts_by_mpi,
                                    {options.exchange, ranks_per_node, "127.0.0.1", connect_seconds});
  }
  friend std::ostream& operator<<(std::ostream& out, const Wire& wire) {
    return out << (wire.is_tcp ? "tcp" : "mpi") << (wire.staging == Staging::always ? "_staged" : "");
  }
};

inline const std::array<Wire, 4> wires = {{{false, Staging::automatic},
                                           {false, Staging::always},
                                           {true, Staging::automatic},
                                           {true, Staging::always}}};

}  // namespace kadam::test
