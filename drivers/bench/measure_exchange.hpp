// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bench/exchange_case.hpp>
#include <bench/measure.hpp>

#include <cstddef>
#include <functional>
#include <optional>

namespace kadam::bench {

/// How much may be done for one number.
struct Effort {
  int repetitions = 21;
  double seconds = 10.0;  ///< of runs, the first one included
  bool counts_interface_bytes = false;
};

/// Of one exchange, the same on all ranks.
struct ExchangeTiming {
  Timing seconds;  ///< of the slowest rank
  int repetitions = 0;
  double spent_seconds = 0.0;   ///< of all runs, also those that do not count
  double encode_seconds = 0.0;  ///< mean over ranks, median of runs; so are the other phases
  double exchange_seconds = 0.0;
  double decode_seconds = 0.0;
  std::size_t bytes_sent = 0;       ///< by the rank that sends most, in one run
  std::size_t node_bytes_sent = 0;  ///< and inside its node, if exchanges have two levels
  /// By the machine that sends most, median of runs; the two small messages between runs included.
  std::optional<std::size_t> interface_bytes;
};

/// Runs an exchange: all ranks start together, the slowest one counts, the middle of the repetitions is
/// taken. There are fewer repetitions when the seconds are used up, and one at least; the first run does not
/// count, unless it took so long that there is no time for another. progress(repetition) is called before
/// each. Collective.
[[nodiscard]] ExchangeTiming measure_exchange(const Exchange& exchange, Communicator& communicator,
                                              const Effort& effort, const std::function<void(int)>& progress);

}  // namespace kadam::bench
