// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/exchange_cases.hpp>
#include <bench/exchange_results.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <sstream>
#include <thread>

namespace kadam::bench::exchange_results_test {
namespace {

ExchangeTiming timing_of(double seconds, std::size_t bytes) {
  ExchangeTiming timing;
  timing.seconds = {seconds, 0.25};
  timing.repetitions = 7;
  timing.bytes_sent = bytes;
  timing.encode_seconds = 0.5;
  return timing;
}

TEST(ExchangeResults, AreComparedWithTheWire) {
  // 12.5 MB take 1 s at 100 Mbit/s.
  const WireLimit wire{1e8, 0.25};
  EXPECT_DOUBLE_EQ(wire.seconds(12'500'000), 1.25);
  ExchangeResult result = result_of("dense mean", 1000, 4, timing_of(2.5, 12'500'000), wire);
  result.round_trip_seconds = 0.125;
  EXPECT_DOUBLE_EQ(result.wire_limit_seconds.value(), 1.25);
  EXPECT_DOUBLE_EQ(result.ratio_to_limit.value(), 2.0);

  const auto line = nlohmann::json::parse(json_line_of(result));
  EXPECT_EQ(line["exchange"], "dense mean");
  EXPECT_EQ(line["elements"], 1000);
  EXPECT_EQ(line["ranks"], 4);
  EXPECT_EQ(line["repetitions"], 7);
  EXPECT_EQ(line["bytes_sent"], 12'500'000);
  EXPECT_DOUBLE_EQ(line["seconds"], 2.5);
  EXPECT_DOUBLE_EQ(line["wire_limit_seconds"], 1.25);
  EXPECT_DOUBLE_EQ(line["ratio_to_limit"], 2.0);
  EXPECT_DOUBLE_EQ(line["round_trip_seconds"], 0.125);
  EXPECT_DOUBLE_EQ(line["encode_seconds"], 0.5);
  EXPECT_TRUE(line["interface_bytes"].is_null());

  const std::string row = exchange_table_row(result);
  for (const char* part : {"dense mean", " 2500.000 ", " 25.0 % ", " 12.5 ", " 1250.000 ", " 2.00 "}) {
    EXPECT_NE(row.find(part), std::string::npos) << part << " is not in " << row;
  }
  EXPECT_EQ(row.size(), exchange_table_head().size());
}

TEST(ExchangeResults, OfRanksThatShareALinkAreComparedByWhatTheInterfaceCounts) {
  const WireLimit shared{1e8, 0.0, true};
  ExchangeTiming timing = timing_of(2.0, 1'000'000);
  EXPECT_FALSE(result_of("a", 1, 4, timing, shared).ratio_to_limit.has_value());
  timing.interface_bytes = 12'500'000;
  EXPECT_DOUBLE_EQ(result_of("a", 1, 4, timing, shared).ratio_to_limit.value(), 2.0);
}

TEST(ExchangeResults, HaveNoRatioWithoutAWireOrWithoutBytes) {
  const ExchangeResult without_wire = result_of("a", 1, 2, timing_of(1.0, 100), std::nullopt);
  EXPECT_TRUE(nlohmann::json::parse(json_line_of(without_wire))["wire_limit_seconds"].is_null());
  const ExchangeResult without_bytes = result_of("a", 1, 2, timing_of(1.0, 0), WireLimit{1e8, 0.0});
  EXPECT_TRUE(nlohmann::json::parse(json_line_of(without_bytes))["ratio_to_limit"].is_null());
  EXPECT_NE(exchange_table_row(without_bytes).find(" - "), std::string::npos);
}

TEST(InterfaceBytes, AreWhatAllButTheLoopbackSent) {
  std::istringstream table(
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n"
      "    lo:   1000      10    0    0    0     0          0         0     2000      10    0    0\n"
      "  eth0:     11      12   13   14   15    16         17        18      300      19   20   21\n"
      "  eth1:7 1 1 1 1 1 1 1 40 1 1 1\n");
  EXPECT_EQ(sum_of_sent_bytes(table), 340U);
}

TEST(DefaultSizes, FitIntoHalfOfTheMemory) {
  // 32 bytes for each element on each of 2 ranks, twice: 128 bytes an element.
  constexpr std::size_t per_element = 128;
  EXPECT_EQ(default_sizes(1'000'000 * per_element, 2).back(), 1'000'000);
  EXPECT_EQ(default_sizes(1'000'000 * per_element - 1, 2).back(), 100'000);
  EXPECT_EQ(default_sizes(1'000'000 * per_element, 4).back(), 100'000);
  EXPECT_EQ(default_sizes(std::size_t{1} << 44, 4).back(), 100'000'000);
  EXPECT_EQ(default_sizes(std::nullopt, 4).back(), 10'000'000);
  EXPECT_EQ(default_sizes(std::size_t{0}, 4), std::vector<std::int64_t>{1000});
}

/// Takes 20 ms and counts its runs.
Exchange nap(int& runs, int& prepared) {
  return {[&](const auto& /*exec*/, auto& /*communicator*/, auto& /*phases*/) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ++runs;
          },
          [&](const auto& /*exec*/) { ++prepared; }};
}

TEST(MeasureRoundTrip, OfOneRankIsNothing) {
  EXPECT_EQ(measure_round_trip(*Communicator::self(), 5), 0.0);
}

TEST(MeasureExchange, RepeatsAsOftenAsThereIsTime) {
  const auto communicator = Communicator::self();
  int runs = 0;
  int prepared = 0;
  const auto measure = [&](const Effort& effort) {
    runs = prepared = 0;
    return measure_exchange(nap(runs, prepared), *communicator, effort, [](int) {});
  };
  const ExchangeTiming three = measure({3, 1000.0});
  EXPECT_EQ(three.repetitions, 3);
  EXPECT_EQ(runs, 4) << "the first run warms up";
  EXPECT_EQ(prepared, 4);
  EXPECT_GE(three.seconds.median, 0.02);
  EXPECT_GE(three.spent_seconds, 0.08);
  EXPECT_EQ(three.bytes_sent, 0U);
  EXPECT_FALSE(three.interface_bytes.has_value());

  const ExchangeTiming one = measure({3, 0.03});
  EXPECT_EQ(one.repetitions, 1);
  EXPECT_EQ(runs, 1) << "there was no time for another";
  EXPECT_GE(one.seconds.median, 0.02);

  Effort apart{3, 1000.0};
  apart.times_phases_apart = true;
  EXPECT_EQ(measure(apart).repetitions, 3);
  EXPECT_EQ(runs, 5) << "the last run is that of the phases";
  apart.seconds = 0.03;
  EXPECT_EQ(measure(apart).repetitions, 1);
  EXPECT_EQ(runs, 1) << "there was no time for it";

  const ExchangeTiming fewer = measure({1000, 0.2});
  EXPECT_LE(fewer.repetitions, 9);
}

}  // namespace
}  // namespace kadam::bench::exchange_results_test
