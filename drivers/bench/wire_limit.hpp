// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <optional>
#include <string>

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

/// "100mbit" is 1e8 bits per second: a number above 0 and bit, kbit, mbit or gbit. Nothing if it is none.
[[nodiscard]] std::optional<double> parse_rate(const std::string& text);
/// "200us" is 2e-4 seconds: a number from 0 on and us, ms or s. Nothing if it is none.
[[nodiscard]] std::optional<double> parse_latency(const std::string& text);

}  // namespace kadam::bench
