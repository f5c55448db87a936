// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bench/exchange_cases.hpp>
#include <launch/timing.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

namespace kadam::bench {

using launch::Timing;

/// How much may be done for one number.
struct Effort {
  int repetitions = 21;
  double seconds = 10.0;  ///< of runs, the first one included
  bool counts_interface_bytes = false;
  /// Whether phases have a run of their own, the last one, because their clocks wait for a device. Where
  /// kernels run on the host they cost nothing, and every run has them.
  bool times_phases_apart = !kernels_run_on_host;
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
/// each. Phases that are timed apart are 0 if there is no time for their run. Collective.
[[nodiscard]] ExchangeTiming measure_exchange(const Exchange& exchange, Communicator& communicator,
                                              const Effort& effort, const std::function<void(int)>& progress);

/// Seconds of an 8-byte message from rank 0 to the last rank and back, as exchanges send it: the median of
/// `repetitions` after one that does not count. The same on all ranks, and 0 of one rank. Collective.
[[nodiscard]] double measure_round_trip(Communicator& communicator, int repetitions);

/// Bytes that the network interfaces of this machine, or of this network namespace, have sent, headers and
/// what was sent twice included; the loopback does not count. Nothing where the system does not tell.
[[nodiscard]] std::optional<std::size_t> interface_bytes();

/// The same of a table that is laid out as Linux' /proc/net/dev.
[[nodiscard]] std::size_t sum_of_sent_bytes(std::istream& table);

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

/// An exchange of a vector with what was measured.
struct ExchangeResult {
  std::string exchange;
  std::int64_t elements = 0;
  int ranks = 1;
  ExchangeTiming timing;
  double round_trip_seconds = 0.0;  ///< measured in the same run of the program
  /// What its bytes take at least: those that a rank sent, or on a shared link those that the interface
  /// counted; nothing without a wire, or if they were not counted.
  std::optional<double> wire_limit_seconds;
  std::optional<double> ratio_to_limit;  ///< 1: as fast as the wire carries its bytes, 2: half as fast
};

/// But for its round trip.
[[nodiscard]] ExchangeResult result_of(const std::string& exchange, std::int64_t elements, int ranks,
                                       const ExchangeTiming& timing, const std::optional<WireLimit>& wire);

/// For people, a line each, so that a long measurement can be followed.
[[nodiscard]] std::string exchange_table_head();
[[nodiscard]] std::string exchange_table_row(const ExchangeResult& result);
/// For programs: a JSON object and a newline.
[[nodiscard]] std::string json_line_of(const ExchangeResult& result);

}  // namespace kadam::bench
