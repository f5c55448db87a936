// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/gather_field.hpp>
#include <insitu/gray_scott.hpp>

#include <cstdint>
#include <vector>

namespace kadam::test {

/// One rank's solver of the whole grid, whatever the program runs on.
class WholeSolver {
 public:
  explicit WholeSolver(const insitu::GrayScottOptions& options)
      : self_(Communicator::self()),
        grid_(insitu::Decomposition(1, options.width, options.height), *self_),
        solver_(exec_, options, grid_) {}

  insitu::GrayScott& operator*() { return solver_; }
  insitu::GrayScott* operator->() { return &solver_; }
  [[nodiscard]] const ExecutionSpace& exec() const { return exec_; }

  void run(const insitu::InitialState& initial, std::int64_t time_steps) {
    solver_.start_from(exec_, initial);
    solver_.advance(exec_, time_steps);
  }
  [[nodiscard]] insitu::HostField field() {
    return insitu::gather_field(exec_, *self_, grid_, solver_.field(), insitu::GrayScott::halo());
  }

 private:
  ExecutionSpace exec_;
  std::shared_ptr<Communicator> self_;
  insitu::ProcessGrid grid_;
  insitu::GrayScott solver_;
};

/// Diffusion alone: no feed, no kill, and no reaction as long as v = 0.
inline insitu::GrayScottOptions diffusion(std::int64_t width, std::int64_t height) {
  insitu::GrayScottOptions options;
  options.width = width;
  options.height = height;
  options.feed = 0.0;
  options.kill = 0.0;
  return options;
}

}  // namespace kadam::test
