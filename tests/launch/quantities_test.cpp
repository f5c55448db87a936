// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/quantities.hpp>
#include <launch/session.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace kadam::launch {
namespace {

TEST(Quantities, AreReadInTheirUnits) {
  EXPECT_DOUBLE_EQ(seconds_of("--compute", "250ms"), 0.25);
  EXPECT_DOUBLE_EQ(seconds_of("--compute", "50us"), 50e-6);
  EXPECT_DOUBLE_EQ(seconds_of("--compute", "20ns"), 20e-9);
  EXPECT_DOUBLE_EQ(seconds_of("--compute", "1.5s"), 1.5);
  EXPECT_DOUBLE_EQ(seconds_of("--compute", "0"), 0.0);
  EXPECT_DOUBLE_EQ(rate_of("--rate", "1gbit"), 125e6);
  EXPECT_DOUBLE_EQ(rate_of("--rate", "100mbit"), 12.5e6);
  EXPECT_DOUBLE_EQ(rate_of("--rate", "2.5Gbit/s"), 312.5e6);
  EXPECT_DOUBLE_EQ(rate_of("--rate", "64kbit"), 8000.0);
  EXPECT_DOUBLE_EQ(rate_of("--rate", "9bit"), 1.125);
  EXPECT_DOUBLE_EQ(rate_of("--rate", "10GB/s"), 1e10);
  EXPECT_EQ(count_of("--parameters", "340M"), 340000000);
  EXPECT_EQ(count_of("--parameters", "0.5K"), 500);
  EXPECT_EQ(count_of("--parameters", "1.3B"), 1300000000);
  EXPECT_EQ(count_of("--parameters", "1.3G"), 1300000000);
  EXPECT_DOUBLE_EQ(bytes_of("--device-memory", "40GB"), 4e10);
  EXPECT_DOUBLE_EQ(bytes_of("--device-memory", "1.5GiB"), 1610612736.0);
  EXPECT_EQ(counts_of("--ranks", "64,2,4,64"), (std::vector<int>{2, 4, 64}));
}

std::string words_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const UsageError& refusal) {
    return refusal.what();
  }
  return "accepted";
}

TEST(Quantities, AreRefusedInWords) {
  EXPECT_EQ(words_of([] { (void)seconds_of("--compute", "fast"); }),
            "--compute fast: expected seconds, as in 250ms, 50us or 1.5s");
  EXPECT_EQ(words_of([] { (void)rate_of("--rate", "100"); }),
            "--rate 100: expected a rate, as in 100mbit, 25gbit or 10GB/s");
  for (const char* wrong : {"", "us", "-1ms", "1min", "1 ms", " 1ms", "1.2.3s", "nan", "1MS"}) {
    EXPECT_NE(words_of([&] { (void)seconds_of("--latency", wrong); }), "accepted") << wrong;
  }
  for (const char* wrong :
       {"", "mbit", "100", "100 mbit", "100mbits", "-1mbit", "0gbit", "1.2.3mbit", ".mbit", "infmbit"}) {
    EXPECT_NE(words_of([&] { (void)rate_of("--rate", wrong); }), "accepted") << wrong;
  }
  EXPECT_EQ(words_of([] { (void)bytes_of("--device-memory", "40"); }),
            "--device-memory 40: expected an amount of memory, as in 40GB or 24GiB");
  for (const char* wrong : {"", "GB", "0GB", "-1GB", "40 GB", "40GB/s", "infGB", "nanGiB"}) {
    EXPECT_NE(words_of([&] { (void)bytes_of("--device-memory", wrong); }), "accepted") << wrong;
  }
  EXPECT_NE(words_of([] { (void)count_of("--parameters", "1.5"); }), "accepted");
  EXPECT_NE(words_of([] { (void)counts_of("--ranks", "2,,4"); }), "accepted");
  EXPECT_NE(words_of([] { (void)counts_of("--ranks", "0"); }), "accepted");
}

TEST(Quantities, AreWrittenWithThreeFigures) {
  EXPECT_EQ(seconds_text(0.0345), "34.5 ms");
  EXPECT_EQ(seconds_text(0.9996), "1 s");
  EXPECT_EQ(rate_text(0.5125e9), "4.1 Gbit/s");
}

TEST(Quantities, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(-123456), "-123,456");
}

TEST(Quantities, WritesBytesInDecimalUnits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(6000), "6.0 kB");
  EXPECT_EQ(bytes_text(123456), "123.5 kB");
  EXPECT_EQ(bytes_text(1.234e6), "1.23 MB");
  EXPECT_EQ(bytes_text(2.5e9), "2.50 GB");
  EXPECT_EQ(bytes_text(1.6e13), "16.00 TB");
}

TEST(Quantities, ChoosesTheUnitOfBytesAfterRounding) {
  EXPECT_EQ(bytes_text(999.7), "1.0 kB");
  EXPECT_EQ(bytes_text(999960), "1.00 MB");
  EXPECT_EQ(bytes_text(999.999e6), "1.00 GB");
  EXPECT_EQ(bytes_text(999.999e9), "1.00 TB");
}

TEST(Quantities, ReadsDurations) {
  const auto read = [](const std::string& text) { return duration_of("--walltime", text); };
  EXPECT_DOUBLE_EQ(read("90"), 90.0);
  EXPECT_DOUBLE_EQ(read("0.5s"), 0.5);
  EXPECT_DOUBLE_EQ(read("15min"), 900.0);
  EXPECT_DOUBLE_EQ(read("3h30min"), 12600.0);
  EXPECT_DOUBLE_EQ(read("1d2h3m4s"), 93784.0);
  EXPECT_DOUBLE_EQ(read("2:15:00"), 8100.0);
  EXPECT_DOUBLE_EQ(read("1:30"), 90.0);
  for (const char* wrong : {"", "0", "0s", "-5s", "5 s", "s", "5parsecs", "1:", ":5", "1::5", "1:x", "nan",
                            "inf", "1e999", "5s 3", "1:30s"}) {
    EXPECT_NE(words_of([&] { (void)read(wrong); }), "accepted") << wrong;
  }
}

TEST(TrafficText, NamesWhatEachPhaseSendsInTheirOrder) {
  EXPECT_EQ(traffic_text({{"warm-up", Traffic::dense, 64000}, {"compressed", Traffic::compressed, 2100}}),
            "64.0 kB in a warm-up step, 2.1 kB in a compressed step");
}

TEST(TrafficText, AddsWhatIsSentInsideANodeOrOnlyNowAndThen) {
  EXPECT_EQ(traffic_text({{"sync", Traffic::compressed, 500},
                          {"sync", Traffic::node, 8000},
                          {"sync", Traffic::dense, 2'000'000, 16},
                          {"sync", Traffic::background, 0}}),
            "500 B + 8.0 kB inside its node + 2.00 MB every 16 steps in a sync step");
}

TEST(TrafficText, SaysWhereNothingIsSent) {
  EXPECT_EQ(traffic_text({{"sync", Traffic::compressed, 500}, {"local", Traffic::compressed, 0}}),
            "500 B in a sync step, 0 B in a local step");
  EXPECT_EQ(traffic_text({{"dense", Traffic::dense, 0}}), "nothing, because there is only one rank");
}

}  // namespace
}  // namespace kadam::launch
