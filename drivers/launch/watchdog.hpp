// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>

namespace kadam::launch {

/// Ends a job that stands still, and names the rank that causes it.
///
/// A thread of each rank sends the number of the rank's last step to rank 0 from time to time; that of rank 0
/// sends it to rank 1. A rank that has fallen silent has stopped, or its host is gone. If all ranks are heard
/// and no step ends, the rank that is behind is the cause. The watchdog prints the rank and the step, and
/// ends the job with exit code 1; the last checkpoint is left.
///
/// Needs more than one rank and MPI_THREAD_MULTIPLE; without them it does nothing, see watches().
class Watchdog {
 public:
  /// patience_seconds: longest time without a step, or without a message of some rank; 0: does nothing.
  /// Collective.
  Watchdog(const char* program, double patience_seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  [[nodiscard]] bool watches() const { return watch_ != nullptr; }
  /// Call after a step, and after anything else that takes long.
  void saw_step(std::int64_t step);

 private:
  class Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace kadam::launch
