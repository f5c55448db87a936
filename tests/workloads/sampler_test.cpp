// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/sampler.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <vector>

namespace kadam::workloads::sampler_test {
namespace {

using Indices = std::vector<std::int64_t>;

Indices take(Sampler& sampler) {
  const auto batch = sampler.next();
  return {batch.begin(), batch.end()};
}

Sampler make_sampler(std::int64_t examples, std::int64_t batch, std::int64_t ranks, std::int64_t rank) {
  return {SamplerOptions{examples, batch, ranks, rank}, 11};
}

TEST(Sampler, ShardsAreDisjointAndCoverTheEpoch) {
  for (const std::int64_t ranks : {1, 2, 3, 4}) {
    std::set<std::int64_t> seen;
    std::int64_t taken = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      Sampler sampler = make_sampler(103, 5, ranks, rank);
      ASSERT_EQ(sampler.batches_per_epoch(), 103 / (5 * ranks));
      for (std::int64_t i = 0; i < sampler.batches_per_epoch(); ++i) {
        for (const std::int64_t index : take(sampler)) {
          EXPECT_TRUE(index >= 0 && index < 103);
          seen.insert(index);
          ++taken;
        }
      }
      EXPECT_EQ(sampler.state().epoch, 0);
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), taken);
    EXPECT_EQ(taken, 103 / (5 * ranks) * 5 * ranks);
  }
}

TEST(Sampler, GlobalBatchDoesNotDependOnTheNumberOfRanks) {
  Sampler whole = make_sampler(60, 12, 1, 0);
  for (int step = 0; step < 12; ++step) {
    const Indices expected = take(whole);
    Indices joined;
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      Sampler part = make_sampler(60, 4, 3, rank);
      for (int i = 0; i < step; ++i) {
        take(part);
      }
      const Indices mine = take(part);
      joined.insert(joined.end(), mine.begin(), mine.end());
    }
    EXPECT_EQ(joined, expected);
  }
}

TEST(Sampler, ShufflesAnewEachEpochAndForEachSeed) {
  Sampler sampler = make_sampler(50, 50, 1, 0);
  Indices first = take(sampler);
  Indices second = take(sampler);
  EXPECT_EQ(sampler.state(), (SamplerState{11, 1, 50}));
  EXPECT_NE(first, second);
  Sampler other(SamplerOptions{50, 50, 1, 0}, 12);
  EXPECT_NE(take(other), first);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
}

TEST(Sampler, ContinuesExactlyWhereItsStateWasTaken) {
  for (const int steps : {0, 1, 9, 10, 11, 25}) {
    Sampler sampler = make_sampler(103, 5, 2, 1);
    for (int i = 0; i < steps; ++i) {
      take(sampler);
    }
    Sampler restarted(SamplerOptions{103, 5, 2, 1}, 999);
    restarted.restore(sampler.state());
    for (int i = 0; i < 30; ++i) {
      EXPECT_EQ(take(restarted), take(sampler));
      EXPECT_EQ(restarted.state(), sampler.state());
    }
  }
}

TEST(Sampler, RestartsOnAnotherNumberOfRanksWithoutRepeatingAnExample) {
  std::set<std::int64_t> seen;
  std::int64_t taken = 0;
  SamplerState state;
  const auto collect = [&](std::int64_t ranks, int steps, const SamplerState start) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      Sampler sampler = make_sampler(103, 5, ranks, rank);
      sampler.restore(start);
      for (int i = 0; i < steps; ++i) {
        for (const std::int64_t index : take(sampler)) {
          seen.insert(index);
          ++taken;
        }
      }
      state = sampler.state();
    }
  };
  collect(4, 3, SamplerState{11, 2, 0});
  collect(3, 2, state);
  EXPECT_EQ(state, (SamplerState{11, 2, 90}));
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), taken);
  EXPECT_EQ(taken, 90);
}

Indices every(std::int64_t step, std::int64_t begin, std::int64_t end) {
  Indices shard;
  for (std::int64_t i = begin; i < end; i += step) {
    shard.push_back(i);
  }
  return shard;
}

TEST(Sampler, GoesThroughItsShardAloneAndShufflesItEachTime) {
  Sampler sampler(SamplerOptions{100, 5, 4, 1}, 11, every(7, 1, 100));  // 15 examples: 3 batches
  std::vector<Indices> epochs;
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
    Indices& seen = epochs.emplace_back();
    for (int batch = 0; batch < 3; ++batch) {
      const Indices part = take(sampler);
      EXPECT_EQ(sampler.epoch(), epoch);
      seen.insert(seen.end(), part.begin(), part.end());
    }
    EXPECT_TRUE(epoch == 0 || seen != epochs[0]);
    Indices sorted = seen;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, every(7, 1, 100));
  }
  EXPECT_EQ(sampler.state(), (SamplerState{11, 2, 40}));  // 12 batches of all ranks, 5 to an epoch of all
}

TEST(Sampler, WithAShardContinuesExactlyWhereItsStateWasTaken) {
  for (const int steps : {0, 1, 4, 5, 6, 25}) {
    Sampler sampler(SamplerOptions{103, 5, 2, 1}, 11, every(3, 0, 103));
    for (int i = 0; i < steps; ++i) {
      take(sampler);
    }
    Sampler restarted(SamplerOptions{103, 5, 2, 1}, 999, every(3, 0, 103));
    restarted.restore(sampler.state());
    for (int i = 0; i < 30; ++i) {
      EXPECT_EQ(take(restarted), take(sampler));
      EXPECT_EQ(restarted.epoch(), sampler.epoch());
      EXPECT_EQ(restarted.state(), sampler.state());
    }
  }
}

TEST(Sampler, RefusesShardsThatCannotBe) {
  EXPECT_THROW(Sampler(SamplerOptions{100, 5, 4, 1}, 11, every(1, 0, 4)), std::invalid_argument);
  EXPECT_THROW(Sampler(SamplerOptions{100, 5, 4, 1}, 11, Indices()), std::invalid_argument);
  Sampler sampler(SamplerOptions{100, 5, 4, 1}, 11, every(1, 0, 30));
  sampler.restore({11, 0, 40});
  EXPECT_THROW(sampler.restore({11, 0, 30}), std::invalid_argument);
}

TEST(Sampler, RefusesWhatCannotBe) {
  EXPECT_THROW(make_sampler(7, 4, 2, 0), std::invalid_argument);
  EXPECT_THROW(make_sampler(0, 1, 1, 0), std::invalid_argument);
  EXPECT_THROW(make_sampler(8, 0, 1, 0), std::invalid_argument);
  EXPECT_THROW(make_sampler(8, 4, 2, 2), std::invalid_argument);
  EXPECT_THROW(make_sampler(8, 4, 0, 0), std::invalid_argument);
  Sampler sampler = make_sampler(8, 4, 2, 0);
  EXPECT_THROW(sampler.restore({1, 0, 9}), std::invalid_argument);
  EXPECT_THROW(sampler.restore({1, -1, 0}), std::invalid_argument);
}

TEST(Sampler, EveryPermutationOfThreeComesEquallyOften) {
  std::vector<int> counts(27, 0);
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    Sampler sampler(SamplerOptions{3, 3, 1, 0}, seed);
    const Indices order = take(sampler);
    ++counts[static_cast<std::size_t>(9 * order[0] + 3 * order[1] + order[2])];
  }
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 0), 21);
  for (const int count : counts) {
    EXPECT_TRUE(count == 0 || std::abs(count - 1000) < 150) << count;
  }
}

}  // namespace
}  // namespace kadam::workloads::sampler_test
