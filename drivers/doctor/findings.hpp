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
  bool survives_failures = false;     ///< others can go on without a rank that has failed
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

/// What came of training a parabola with known minimum on all ranks.
struct SelfTest {
  bool equal_on_all_ranks = false;  ///< parameters, to the last bit
  double error = 0.0;               ///< distance of the worst parameter from the minimum
  double step_seconds = 0.0;        ///< of a compressed step, median
  double dense_seconds = 0.0;       ///< of a step of dense Adam
  std::size_t sent_bytes = 0;       ///< in a compressed step
  std::size_t dense_bytes = 0;

  [[nodiscard]] bool passed() const { return equal_on_all_ranks && error < 0.1; }
};

/// One million parameters, each rank pulls them to a target of its own: they have to meet at the mean, over
/// onebit_adam's exchanges and adam's. Takes about a second. Collective.
[[nodiscard]] SelfTest run_self_test(const std::shared_ptr<Communicator>& communicator);

}  // namespace kadam::doctor
