// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/images.hpp>
#include <workloads/make_sampler.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

namespace kadam::workloads::dirichlet_shard_test {
namespace {

using Indices = std::vector<std::int64_t>;

/// Label i mod 10.
std::vector<std::uint8_t> ten_classes(std::size_t examples) {
  std::vector<std::uint8_t> labels(examples);
  for (std::size_t i = 0; i < examples; ++i) {
    labels[i] = static_cast<std::uint8_t>(i % 10);
  }
  return labels;
}

std::vector<Indices> shards(const std::vector<std::uint8_t>& labels, double alpha, std::int64_t ranks,
                            std::uint64_t seed, std::int64_t smallest = 1) {
  std::vector<Indices> all;
  all.reserve(static_cast<std::size_t>(ranks));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    all.push_back(dirichlet_shard(labels, {alpha, ranks, rank, smallest}, seed));
  }
  return all;
}

TEST(DirichletShard, NoExampleIsLostOrShared) {
  const std::vector<std::uint8_t> labels = ten_classes(1003);
  for (const double alpha : {0.01, 0.5, 10.0}) {
    for (const std::int64_t ranks : {1, 2, 3, 7}) {
      Indices all;
      for (const Indices& shard : shards(labels, alpha, ranks, 5)) {
        EXPECT_TRUE(std::is_sorted(shard.begin(), shard.end()));
        EXPECT_FALSE(shard.empty());
        all.insert(all.end(), shard.begin(), shard.end());
      }
      std::sort(all.begin(), all.end());
      ASSERT_EQ(all.size(), labels.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i], static_cast<std::int64_t>(i));
      }
    }
  }
}

/// Shares of a class that `ranks` ranks get, over many seeds.
std::vector<double> shares(double alpha, std::int64_t ranks) {
  const std::vector<std::uint8_t> labels = ten_classes(10'000);
  std::vector<double> result;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const Indices& shard : shards(labels, alpha, ranks, seed)) {
      std::vector<double> counts(10, 0.0);
      for (const std::int64_t example : shard) {
        counts[static_cast<std::size_t>(example % 10)] += 1.0;
      }
      for (const double count : counts) {
        result.push_back(count / 1000.0);
      }
    }
  }
  return result;
}

/// A share is of the beta distribution (alpha, (n - 1) alpha): mean 1/n, variance (n - 1)/(n² (n alpha + 1)).
TEST(DirichletShard, SharesHaveMeanAndVarianceOfTheDistribution) {
  for (const double alpha : {0.05, 0.3, 1.0, 20.0}) {
    for (const std::int64_t ranks : {2, 4}) {
      const auto n = static_cast<double>(ranks);
      double sum = 0.0;
      double square = 0.0;
      const std::vector<double> values = shares(alpha, ranks);
      for (const double share : values) {
        sum += share;
        square += (share - 1.0 / n) * (share - 1.0 / n);
      }
      const auto count = static_cast<double>(values.size());
      EXPECT_NEAR(sum / count, 1.0 / n, 1e-9);
      const double variance = (n - 1.0) / (n * n * (n * alpha + 1.0));
      EXPECT_NEAR(square / count / variance, 1.0, 0.1) << "alpha " << alpha << ", ranks " << ranks;
    }
  }
}

TEST(DirichletShard, LargerShareOfTwoIsAsDocumented) {
  for (const auto& [alpha, expected] : {std::pair{0.05, 0.97}, {1.0, 0.75}, {50.0, 0.54}}) {
    double sum = 0.0;
    const std::vector<double> values = shares(alpha, 2);
    for (const double share : values) {
      sum += std::max(share, 1.0 - share);
    }
    EXPECT_NEAR(sum / static_cast<double>(values.size()), expected, 0.015) << alpha;
  }
}

TEST(DirichletShard, LargeAlphaApproachesEqualShares) {
  for (const double share : shares(1e6, 4)) {
    EXPECT_NEAR(share, 0.25, 0.005);
  }
}

TEST(DirichletShard, TinyAlphaGivesEachClassToOneRank) {
  for (const double share : shares(1e-6, 3)) {
    EXPECT_TRUE(share < 0.01 || share > 0.99) << share;
  }
}

TEST(DirichletShard, IsAPureFunctionOfTheSeed) {
  const std::vector<std::uint8_t> labels = ten_classes(500);
  EXPECT_EQ(shards(labels, 0.5, 4, 1), shards(labels, 0.5, 4, 1));
  EXPECT_NE(shards(labels, 0.5, 4, 1), shards(labels, 0.5, 4, 2));
}

TEST(DirichletShard, DealsAgainUntilEachRankHasEnough) {
  const std::vector<std::uint8_t> labels = ten_classes(400);
  std::size_t smallest = labels.size();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const Indices& shard : shards(labels, 0.2, 4, seed, 60)) {
      smallest = std::min(smallest, shard.size());
    }
  }
  EXPECT_GE(smallest, 60U);
  EXPECT_THROW((void)dirichlet_shard(labels, {0.2, 4, 0, 101}, 1), std::invalid_argument);
  EXPECT_THROW((void)dirichlet_shard(labels, {0.0, 4, 0, 1}, 1), std::invalid_argument);
  EXPECT_THROW(dirichlet_shard(labels, {std::nan(""), 4, 0, 1}, 1), std::invalid_argument);
}

/// Images of one pixel.
ImageSet pixels(std::size_t examples) {
  return {1, 1, 1, std::vector<std::uint8_t>(examples), ten_classes(examples)};
}

TEST(MakeSampler, DrawsFromAllExamplesOrFromAShard) {
  const ImageDataset data("pixels", pixels(400), pixels(10), 10);
  std::set<std::int64_t> seen;
  std::int64_t examples = 0;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const SamplerOptions options{400, 4, 2, rank};
    Sampler all = make_sampler(data, 0.0, options, 3);
    Sampler plain(options, 3);
    Sampler sharded = make_sampler(data, 0.3, options, 3);
    std::set<std::int64_t> own;
    for (int i = 0; i < 300; ++i) {
      const auto expected = plain.next();
      EXPECT_TRUE(std::ranges::equal(all.next(), expected));
      const auto batch = sharded.next();
      own.insert(batch.begin(), batch.end());
    }
    examples += static_cast<std::int64_t>(own.size());
    seen.merge(own);
  }
  EXPECT_EQ(examples, 400);
  EXPECT_EQ(seen.size(), 400U);
}

}  // namespace
}  // namespace kadam::workloads::dirichlet_shard_test
