// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/zero_one_adam.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace kadam {
namespace {

using Steps = std::vector<std::int64_t>;

struct Schedule {
  Steps variance;
  Steps syncs;  ///< that are no variance steps
};

/// What a run of so many steps does, from the step after `done` on.
Schedule followed(ZeroOnePolicy policy, std::int64_t done, std::int64_t steps) {
  Schedule schedule;
  for (std::int64_t t = done + 1; t <= steps; ++t) {
    if (policy.is_variance_step(t)) {
      schedule.variance.push_back(t);
      policy.take_variance_step();
    } else if (policy.is_sync_step(t)) {
      schedule.syncs.push_back(t);
    } else {
      continue;
    }
    policy.synchronised_at(t);
  }
  return schedule;
}

TEST(ZeroOnePolicy, HandSized) {
  // kappa = 2: distances 1, 1, 2, 2, 4, ... up to step 10. Gaps: 1 for 3 steps from 11 on, then 2, 4, 4, ...
  const Schedule schedule =
      followed(ZeroOnePolicy({.freeze = 10, .kappa = 2, .doubling = 3, .interval_max = 4}), 0, 30);
  EXPECT_EQ(schedule.variance, (Steps{1, 2, 3, 5, 7}));
  EXPECT_EQ(schedule.syncs, (Steps{4, 6, 8, 9, 10, 11, 12, 13, 15, 19, 23, 27}));
}

TEST(ZeroOnePolicy, TheGapDoublesAfterEachStretchAndStaysAtItsLargest) {
  const ZeroOnePolicy policy({.freeze = 5, .kappa = 1, .doubling = 10, .interval_max = 6});
  for (const auto& [step, gap] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {5, 1}, {6, 1}, {15, 1}, {16, 2}, {25, 2}, {26, 4}, {35, 4}, {36, 6}, {100000, 6}}) {
    EXPECT_EQ(policy.gap(step), gap) << step;
  }
}

TEST(ZeroOnePolicy, GoesOnAsIfItHadBeenFollowed) {
  const ZeroOnePolicy::Options options{.freeze = 12, .kappa = 2, .doubling = 2, .interval_max = 4};
  const Schedule whole = followed(ZeroOnePolicy(options), 0, 40);
  for (const std::int64_t done : {1, 4, 7, 11, 12}) {
    ZeroOnePolicy later(options);
    later.start_after(done);
    const Schedule rest = followed(later, done, 40);
    Steps expected = whole.variance;
    std::erase_if(expected, [&](std::int64_t t) { return t <= done; });
    EXPECT_EQ(rest.variance, expected) << "after step " << done;
    expected = whole.syncs;
    std::erase_if(expected, [&](std::int64_t t) { return t <= done; });
    EXPECT_EQ(rest.syncs, expected) << "after step " << done;
  }
}

TEST(ZeroOnePolicy, FreezesAtTheEndOfTheWarmUpUnlessToldOtherwise) {
  ZeroOneAdam::Options options;
  options.common.learning_rate.lr_warmup_steps = 20;
  EXPECT_EQ(options.policy().freeze, 20);
  options.variance_freeze_step = 7;
  EXPECT_EQ(options.policy().freeze, 7);
}

}  // namespace
}  // namespace kadam
