// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace kadam::bench {

/// What costs a device a launch or a wait, whatever its size.
struct Calls {
  std::int64_t launches = 0;  ///< of kernels
  std::int64_t copies = 0;
  std::int64_t fences = 0;  ///< those inside copies included
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

}  // namespace kadam::bench
