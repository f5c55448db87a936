// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <functional>
#include <memory>
#include <stdexcept>

namespace gray_scott {

/// Exit codes, the same as those of Kadam's programs.
enum ExitCode : int {
  exit_success = 0,
  exit_failure = 1,  ///< something failed while running; the job was ended
  exit_usage = 2     ///< a wrong option, file or configuration; nothing was started
};

/// Thrown on all ranks by together() after the reason was printed.
class Refused : public std::exception {};

/// Runs what may fail on one rank alone (reading files, checking options) and then asks all ranks: if any
/// failed, the first that did prints why, and all throw Refused. Collective.
void together(kadam::Communicator& ranks, const std::function<void()>& preparation);

/// Starts MPI and Kokkos, runs `body` and ends both. Prints exceptions and returns an exit code; an exception
/// on one rank ends the whole job, which would hang otherwise. Kokkos gets this rank's share of the node's
/// cores unless OMP_NUM_THREADS is set.
int run_on_all_ranks(int argc, char** argv,
                     const std::function<int(std::shared_ptr<kadam::Communicator>)>& body);

}  // namespace gray_scott
