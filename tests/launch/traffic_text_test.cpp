// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/traffic_text.hpp>

#include <gtest/gtest.h>

namespace kadam::launch {
namespace {

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
  EXPECT_EQ(traffic_text({{"dense", Traffic::dense, 0}}), "nothing, it is alone");
}

}  // namespace
}  // namespace kadam::launch
