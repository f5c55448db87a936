// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace kadam::bench {

/// What costs a device a launch or a wait, whatever its size.
struct Calls {
  std::int64_t launches = 0;  ///< of kernels
  std::int64_t copies = 0;
  std::int64_t fences = 0;      ///< those inside copies included
  double kernel_seconds = 0.0;  ///< from the begin of each kernel to its end, without copies
};

/// Counts this process' calls of Kokkos as a Kokkos Tools library would, as long as it lives: one at a time.
/// Errors: std::runtime_error beside another tool.
class CallCounter {
 public:
  CallCounter();
  ~CallCounter();
  CallCounter(const CallCounter&) = delete;
  CallCounter& operator=(const CallCounter&) = delete;

  /// Since it was made.
  [[nodiscard]] Calls calls() const;
};

/// Bytes of the Views that were made since and are alive, but for Kokkos' own: one at a time.
class HeldMemory {
 public:
  HeldMemory();
  ~HeldMemory();
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

  [[nodiscard]] std::size_t bytes() const;
};

}  // namespace kadam::bench
