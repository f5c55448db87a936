// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace kadam::bench {

/// Counts of calls that cost a device a launch or a wait, whatever their size.
struct Calls {
  std::int64_t launches = 0;  ///< of kernels
  std::int64_t copies = 0;
  std::int64_t fences = 0;      ///< fences inside copies included
  double kernel_seconds = 0.0;  ///< from the begin of each kernel to its end, without copies
};

/// Counts this process' calls of Kokkos while it lives, as a Kokkos Tools library would. One object at a
/// time. Errors: std::runtime_error beside another tool.
class CallCounter {
 public:
  CallCounter();
  ~CallCounter();
  CallCounter(const CallCounter&) = delete;
  CallCounter& operator=(const CallCounter&) = delete;

  /// The calls since the construction.
  [[nodiscard]] Calls calls() const;
};

/// Adds up the Views that are made while it lives and still exist, without those of Kokkos itself. One object
/// at a time. Errors: std::runtime_error beside another tool.
class HeldMemory {
 public:
  HeldMemory();
  ~HeldMemory();
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

  [[nodiscard]] std::size_t bytes() const;
};

}  // namespace kadam::bench
