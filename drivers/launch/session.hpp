// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam::launch {

/// Exit codes of all programs; docs/programs.md lists them.
enum ExitCode : int {
  exit_success = 0,
  exit_failure = 1,  ///< something failed while running; the job was ended
  exit_usage = 2,    ///< a wrong option, file or configuration; nothing was started
  exit_stopped = 75  ///< stopped by a signal or --walltime, after a checkpoint: --resume auto goes on
};

/// A mistake in the command line, a file or the configuration. Only inside the callable of Session::prepare()
/// may some ranks throw it and others not.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Starts MPI and Kokkos, and ends them at its destruction: from the first line of a program to its last.
///
/// Kokkos gets this rank's share of the node's cores unless OMP_NUM_THREADS or KOKKOS_NUM_THREADS is set:
/// with four ranks on two cores one thread per rank, not eight threads in all.
class Session {
 public:
  /// Errors: UsageError when a launcher started n single ranks instead of n ranks.
  Session(std::string program, int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const std::shared_ptr<Communicator>& communicator() const { return communicator_; }
  [[nodiscard]] bool is_root() const { return communicator_->rank() == 0; }

  /// From now on an exception ends only the rank that throws it, and the other ranks go on without it.
  void let_ranks_fail() { ranks_may_fail_ = true; }
  [[nodiscard]] bool ranks_may_fail() const { return ranks_may_fail_; }
  /// Makes `ranks` the communicator of the program, after ranks have failed or joined. has_lost_ranks: some
  /// have failed.
  void go_on_with(std::shared_ptr<Communicator> ranks, bool has_lost_ranks);

  /// Runs what may fail on one rank alone (reading files, checking options) and then asks all ranks: if any
  /// failed, the first that did prints why, and all throw Refused. Collective.
  void prepare(const std::function<void()>& preparation) const;

 private:
  std::string program_;
  std::shared_ptr<Communicator> communicator_;
  bool ranks_may_fail_ = false;
  bool has_other_ranks_ = false;  ///< than those that it began with
  bool has_lost_ranks_ = false;
};

/// Thrown on all ranks by Session::prepare after the reason was printed.
class Refused : public std::exception {};

/// main() of every program: starts a session, runs the program, prints exceptions and returns an exit code.
/// An exception on one rank ends the whole job, which would hang otherwise, unless Session::let_ranks_fail()
/// was called.
int run_program(const char* name, int argc, char** argv,
                const std::function<int(Session&, int, char**)>& program);

/// Joins the ranks that listen at these addresses: join_socket_communicator() with the exchange options of
/// the environment (KADAM_GPU_AWARE, KADAM_PIECE_BYTES, KADAM_TIMEOUT_SECONDS). Returns the communicator of
/// all ranks. Errors: as join_socket_communicator(), and UsageError.
[[nodiscard]] std::shared_ptr<Communicator> join_ranks(const std::vector<std::string>& addresses,
                                                       const std::string& kind);

/// "Kadam 1.0.0: MPI, 4 ranks, 2 threads of OpenMP each": the first line that a program prints.
[[nodiscard]] std::string title_line(const Communicator& program);

/// The threads or the device that a rank computes with: "2 threads of OpenMP", "a device of Cuda".
[[nodiscard]] std::string computes_with();

}  // namespace kadam::launch
