// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

namespace kadam::bench {

/// What a host's link could at best do.
struct WireLimit {
  double bits_per_second = 0.0;
  double latency_seconds = 0.0;
  bool is_shared = false;  ///< by several ranks: what crosses it is what the interface counts

  /// 8 bytes / rate + latency. Worked number: 12.5 MB at 100 Mbit/s and 1 ms take 1.001 s.
  [[nodiscard]] double seconds(std::size_t bytes) const {
    return 8.0 * static_cast<double>(bytes) / bits_per_second + latency_seconds;
  }
};

}  // namespace kadam::bench
