// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// kadam-doctor: how a job was started, and what to do about it.
namespace kadam::doctor {

/// Where one rank runs.
struct Seat {
  int node = 0;                  ///< 0, 1, ...
  int cores = 0;                 ///< that the rank may run on; 0: not known
  std::uint64_t cores_hash = 0;  ///< equal for the same cores; below 2^53, for a double
  int threads = 1;               ///< of its kernels
};

/// What was found on all ranks.
struct Findings {
  std::vector<Seat> seats;  ///< by rank
  int cores_on_node = 1;    ///< of the node of rank 0
  bool device = false;      ///< kernels run on a GPU
  bool parallel = true;     ///< or on several threads
  bool staged = false;      ///< messages pass through host memory
  bool two_levels = false;
  bool threads_may_exchange = false;  ///< MPI_THREAD_MULTIPLE
  bool has_mpi = true;
  bool optimised = true;
  std::string slurm_job;  ///< empty outside of Slurm
  std::string slurm_partition;

  [[nodiscard]] int ranks() const { return static_cast<int>(seats.size()); }
  [[nodiscard]] int nodes() const;
};

/// Collective.
[[nodiscard]] Findings look_around(Communicator& communicator);

/// What is not as it should be and what would help, a sentence or two each; none if all is well.
[[nodiscard]] std::vector<std::string> advice(const Findings& findings);

}  // namespace kadam::doctor
