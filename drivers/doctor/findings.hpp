// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// kadam-doctor: how a job was started, and what to do about it.
namespace kadam::doctor {

/// Where one rank runs.
struct Seat {
  int node = 0;                  ///< 0, 1, ...
  int cores = 0;                 ///< cores that the rank may run on; 0: not known
  std::uint64_t cores_hash = 0;  ///< equal for the same cores; below 2^53, so it fits a double
  int threads = 1;               ///< threads of its kernels
};

/// Facts about the job, on all ranks the same but where a rank is named.
struct Findings {
  std::vector<Seat> seats;            ///< by rank
  int cores_on_node = 1;              ///< of the node of rank 0
  bool device = false;                ///< kernels run on a GPU
  bool parallel = true;               ///< kernels run on a GPU, or in a space with threads
  bool blas_competes = false;         ///< OpenBLAS has threads of its own beside OpenMP's, on rank 0
  bool lacks_huge_pages = false;      ///< vectors on a CPU have pages of 4 KiB, on the node of rank 0
  bool staged = false;                ///< messages pass through host memory
  bool two_levels = false;            ///< exchanges have two levels
  bool threads_may_exchange = false;  ///< several threads at a time, as with MPI_THREAD_MULTIPLE
  bool survives_failures = false;     ///< ranks can go on without one that has failed
  bool has_mpi = true;                ///< built with MPI
  bool optimised = true;              ///< not a Debug build
  std::string slurm_job;              ///< empty outside of Slurm
  std::string slurm_partition;

  [[nodiscard]] int ranks() const { return static_cast<int>(seats.size()); }
  [[nodiscard]] int nodes() const;
};

/// Gathers the facts from all ranks. Collective.
[[nodiscard]] Findings look_around(Communicator& communicator);

/// Problems of the job and what would help, a sentence or two each; empty if all is well.
[[nodiscard]] std::vector<std::string> advice(const Findings& findings);

/// Results of run_self_test().
struct SelfTest {
  bool equal_on_all_ranks = false;  ///< parameters, to the last bit
  double error = 0.0;               ///< distance of the worst parameter from the mean target, see below
  double step_seconds = 0.0;        ///< of a compressed step, median
  double dense_seconds = 0.0;       ///< of a step of dense Adam, median
  std::size_t sent_bytes = 0;       ///< in a compressed step
  std::size_t dense_bytes = 0;      ///< in a step of dense Adam

  [[nodiscard]] bool passed() const { return equal_on_all_ranks && error < 0.1; }
};

/// Trains one million parameters with adam and with onebit_adam. Each rank pulls them to another target, so
/// they have to end at the mean of the targets, (n - 1) / 2. The error is divided by this mean where it is
/// above 1. Takes about a second. Collective.
[[nodiscard]] SelfTest run_self_test(const std::shared_ptr<Communicator>& communicator);

}  // namespace kadam::doctor
