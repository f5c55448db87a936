// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gray_scott/solver.hpp>

#include <mpi.h>

#include <cstdint>

namespace kadam::test {

/// One rank's solver of the whole grid, whatever the program runs on.
class WholeSolver {
 public:
  explicit WholeSolver(const gray_scott::SolverOptions& options)
      : slab_(MPI_COMM_SELF, options.width, options.height, 1, false), solver_(exec_, options, slab_) {}

  gray_scott::Solver* operator->() { return &solver_; }
  [[nodiscard]] const ExecutionSpace& exec() const { return exec_; }

  void run(const gray_scott::InitialState& initial, std::int64_t time_steps) {
    solver_.start_from(exec_, initial);
    solver_.advance(exec_, time_steps);
  }
  [[nodiscard]] gray_scott::HostField field() {
    exec_.fence();
    return slab_.gather(solver_.field());
  }

 private:
  ExecutionSpace exec_;
  gray_scott::Slab slab_;
  gray_scott::Solver solver_;
};

/// Diffusion alone: no feed, no kill, and no reaction as long as v = 0.
inline gray_scott::SolverOptions diffusion(std::int64_t width, std::int64_t height) {
  gray_scott::SolverOptions options;
  options.width = width;
  options.height = height;
  options.feed = 0.0;
  options.kill = 0.0;
  return options;
}

}  // namespace kadam::test
