// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>

namespace kadam::launch {

/// Ends a job that stands still, and says which rank is the reason.
///
/// A thread of every rank sends its last step to rank 0 every now and then, and that of rank 0 to rank 1. A
/// rank of which nothing comes any more has stopped, or its host is gone; if all are heard of and no step
/// ends any more, it is the one that is behind. Then the step is named, and the job ends with exit code 1:
/// what was saved last is what is left.
///
/// Needs more than one rank and MPI_THREAD_MULTIPLE; without them it does nothing, see watches().
class Watchdog {
 public:
  /// patience_seconds: without a step, or a word from some rank; 0: does nothing. Collective.
  Watchdog(const char* program, double patience_seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  [[nodiscard]] bool watches() const { return watch_ != nullptr; }
  /// After a step, and after whatever else takes long.
  void saw_step(std::int64_t step);

 private:
  class Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace kadam::launch
