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

/// Limits on the runs for one measured number.
struct Effort {
  int repetitions = 21;
  double seconds = 10.0;  ///< for all runs, the first one included
  bool counts_interface_bytes = false;
  /// Whether phases are timed in a separate last run, because their clocks wait for a device. Where kernels
  /// run on the host these clocks cost nothing, and every run has them.
  bool times_phases_apart = !kernels_run_on_host;
};

/// Measured figures of one exchange, the same on all ranks.
struct ExchangeTiming {
  Timing seconds;  ///< of the slowest rank
  int repetitions = 0;
  double spent_seconds = 0.0;   ///< sum over all runs, also those that do not count
  double encode_seconds = 0.0;  ///< mean over ranks, median of runs; so are the other phases
  double exchange_seconds = 0.0;
  double decode_seconds = 0.0;
  std::size_t bytes_sent = 0;       ///< by the rank that sends most, in one run
  std::size_t node_bytes_sent = 0;  ///< sent inside its node, if exchanges have two levels, likewise
  /// Bytes that the interfaces of the machine that sends most have sent in one run, median of runs; small
  /// messages between runs included. Nothing if they were not counted.
  std::optional<std::size_t> interface_bytes;
};

/// Runs an exchange effort.repetitions times. All ranks start together, the slowest one counts, and the
/// median over runs is taken. There are fewer runs if effort.seconds are used up, at least one; the first run
/// does not count unless no time is left for another. progress(repetition) is called before each run. With
/// times_phases_apart the phases are 0 if no time is left for their run. Collective.
[[nodiscard]] ExchangeTiming measure_exchange(const Exchange& exchange, Communicator& communicator,
                                              const Effort& effort, const std::function<void(int)>& progress);

/// Seconds of an 8-byte message from rank 0 to the last rank and back, as exchanges send it: the median of
/// `repetitions` after one that does not count. The same on all ranks; 0 with one rank. Collective.
[[nodiscard]] double measure_round_trip(Communicator& communicator, int repetitions);

/// Bytes that the network interfaces of this machine, or of this network namespace, have sent so far, headers
/// and retransmissions included, without the loopback. Nothing where the system does not tell.
[[nodiscard]] std::optional<std::size_t> interface_bytes();

/// The sum for interface_bytes() from a table in the format of Linux' /proc/net/dev.
[[nodiscard]] std::size_t sum_of_sent_bytes(std::istream& table);

/// Rate and latency of a host's link: a lower bound on the time of an exchange.
struct WireLimit {
  double bits_per_second = 0.0;
  double latency_seconds = 0.0;
  bool is_shared = false;  ///< several ranks share it: the interface counts its bytes

  /// 8 bytes / rate + latency. Worked number: 12.5 MB at 100 Mbit/s and 1 ms take 1.001 s.
  [[nodiscard]] double seconds(std::size_t bytes) const {
    return 8.0 * static_cast<double>(bytes) / bits_per_second + latency_seconds;
  }
};

/// The measurement of an exchange of a vector of `elements` float32.
struct ExchangeResult {
  std::string exchange;
  std::int64_t elements = 0;
  int ranks = 1;
  ExchangeTiming timing;
  double round_trip_seconds = 0.0;  ///< measured in the same run of the program
  /// Least seconds for the bytes that a rank sent, or on a shared link for those that the interface counted;
  /// nothing without a WireLimit, or if they were not counted.
  std::optional<double> wire_limit_seconds;
  std::optional<double> ratio_to_limit;  ///< median seconds / wire_limit_seconds; 1: as fast as the wire
};

/// Computes all members but round_trip_seconds, which stays 0.
[[nodiscard]] ExchangeResult result_of(const std::string& exchange, std::int64_t elements, int ranks,
                                       const ExchangeTiming& timing, const std::optional<WireLimit>& wire);

/// For people, a line each, so that a long measurement can be followed.
[[nodiscard]] std::string exchange_table_head();
[[nodiscard]] std::string exchange_table_row(const ExchangeResult& result);
/// For programs: a JSON object and a newline.
[[nodiscard]] std::string json_line_of(const ExchangeResult& result);

}  // namespace kadam::bench
