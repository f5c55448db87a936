// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <trace/timeline.hpp>

#include <gtest/gtest.h>

namespace kadam::trace {
namespace {

TEST(OffsetFrom, TakesTheMiddleOfWhatOneMeetingLeavesPossible) {
  const ClockOffset offset = offset_from({{1.0}, {1.4}, {5.1}, {5.3}});
  EXPECT_DOUBLE_EQ(offset.seconds, 4.0);
  EXPECT_NEAR(offset.error, 0.3, 1e-12);
  EXPECT_DOUBLE_EQ(offset.at, 1.4);
}

TEST(OffsetFrom, EveryMeetingCanOnlyNarrowIt) {
  // The true offset is 10. One meeting where this rank came late, one where rank 0 did.
  const ClockOffset offset = offset_from({{1.0, 2.5}, {1.1, 2.6}, {10.2, 12.50001}, {11.1, 12.7}});
  EXPECT_NEAR(offset.seconds, 10.0, offset.error);
  EXPECT_NEAR(offset.seconds, 0.5 * (9.90001 + 10.1), 1e-9);
}

TEST(CommonClock, FollowsAClockThatRunsSlower) {
  // 4 s behind at 1 s, 5 s behind at 11 s: a tenth too slow.
  const CommonClock clock({4.0, 0.0, 1.0}, {5.0, 0.0, 11.0});
  EXPECT_DOUBLE_EQ(clock(1.0), 5.0);
  EXPECT_DOUBLE_EQ(clock(6.0), 10.5);
  EXPECT_DOUBLE_EQ(clock(11.0), 16.0);
}

TEST(CommonClock, IsStillAnOffsetWhenBothWereMeasuredAtOnce) {
  const CommonClock clock({4.0, 0.0, 1.0}, {4.0, 0.0, 1.0});
  EXPECT_DOUBLE_EQ(clock(2.0), 6.0);
}

}  // namespace
}  // namespace kadam::trace
