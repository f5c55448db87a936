// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/compressed_mean.hpp>
#include <kadam/comm/mpi_communicator.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <reference/block_code.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>

namespace kadam {
namespace {

struct Load {
  Vector<const float> y;
  KOKKOS_FUNCTION float operator()(const std::int64_t i) const { return y(i); }
};

struct Store {
  Vector<float> out;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const float value) const { out(i) = value; }
};

struct NotEverySeventh {
  KOKKOS_FUNCTION bool operator()(const std::int64_t i) const { return i % 7 != 2; }
};

struct Case {
  int bits;
  bool mean_abs;
  std::int64_t block;
  Staging staging;
};

class CompressedMeanTest : public testing::TestWithParam<Case> {
 protected:
  std::shared_ptr<Communicator> communicator_ =
      make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(GetParam().staging));
  const int rank_ = communicator_->rank();
  const int size_ = communicator_->size();
  ExecutionSpace exec_;
  Phases phases_;

  CompressedMean make(std::int64_t d) const {
    const auto scale = GetParam().mean_abs ? SignScale::mean_abs : SignScale::rms;
    return {exec_, make_quantiser(GetParam().bits, scale), ChunkLayout(d, size_), GetParam().block, rank_};
  }

  std::vector<float> mean_of(CompressedMean& mean, const std::vector<float>& y,
                             const ActiveMask<MemorySpace>& active) {
    const auto out = test::to_device(std::vector<float>(y.size(), 0.0F));
    mean.exchange(exec_, *communicator_, phases_, Load{test::to_device(y)}, active);
    mean.decode(exec_, active, 0, static_cast<std::int64_t>(y.size()), Store{out});
    return test::to_host(out);
  }

  static ActiveMask<MemorySpace> every_seventh_inactive(std::int64_t d) {
    const Vector<std::uint32_t> words("mask",
                                      static_cast<std::size_t>(ActiveMask<MemorySpace>::words_for(d)));
    fill_active_mask(ExecutionSpace{}, words, d, NotEverySeventh{});
    return {words, 0};
  }
};

TEST_P(CompressedMeanTest, EqualsSimulatedRanks) {
  for (const std::int64_t d : {1, 65, 301, 5000}) {
    reference::CompressedMean expected({GetParam().bits, GetParam().mean_abs, GetParam().block}, size_, d);
    CompressedMean mean = make(d);
    const auto mask = every_seventh_inactive(d);
    std::vector<bool> active(static_cast<std::size_t>(d));
    for (std::int64_t i = 0; i < d; ++i) active[static_cast<std::size_t>(i)] = i % 7 != 2;
    for (std::int64_t t = 1; t <= 4; ++t) {
      std::vector<std::vector<float>> y;
      for (int r = 0; r < size_; ++r) y.push_back(test::random_gradient(d, r, t));
      const auto wanted = expected(y, active);
      const auto got = mean_of(mean, y[static_cast<std::size_t>(rank_)], mask);
      EXPECT_TRUE(test::bitwise_equal(got, test::from_rank_zero(got))) << "replicas differ, d " << d;
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], wanted[i], 1e-5F * (0.1F + std::fabs(wanted[i])))
            << "d " << d << " step " << t << " element " << i;
      }
    }
  }
}

/// Per coordinate, from zero errors: sum_t out + (1/n) sum_i we_i + se = sum_t (1/n) sum_i y_i.
TEST_P(CompressedMeanTest, NothingIsLost) {
  const std::int64_t d = 3001;
  CompressedMean mean = make(d);
  const ActiveMask<MemorySpace> all;
  std::vector<double> owed(static_cast<std::size_t>(d), 0.0);  // (1/n) sum y - out, summed over the steps
  double magnitude = 0.0;
  for (std::int64_t t = 1; t <= 20; ++t) {
    const auto y = test::random_gradient(d, rank_, t);
    const auto out = mean_of(mean, y, all);
    std::vector<double> sum(y.begin(), y.end());
    sum = test::sum_over_ranks(sum);
    for (std::size_t i = 0; i < owed.size(); ++i) {
      owed[i] += sum[i] / size_ - static_cast<double>(out[i]);
      magnitude = std::max(magnitude, std::fabs(sum[i] / size_));
    }
  }
  std::vector<double> kept(owed.size(), 0.0);
  if (size_ > 1) {
    const auto worker = test::to_host(mean.state().worker_error);
    const auto server = test::to_host(mean.state().server_error);
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = static_cast<double>(worker[i]) / size_;
    const auto begin = static_cast<std::size_t>(ChunkLayout(d, size_).chunk(rank_).begin);
    for (std::size_t i = 0; i < server.size(); ++i) kept[begin + i] += static_cast<double>(server[i]);
    kept = test::sum_over_ranks(kept);
  }
  double largest_kept = 0.0;
  for (std::size_t i = 0; i < owed.size(); ++i) {
    EXPECT_NEAR(owed[i], kept[i], 2e-4 * magnitude) << i;
    largest_kept = std::max(largest_kept, std::fabs(kept[i]));
  }
  // The law would hold for an exact mean too: this one must owe something.
  EXPECT_EQ(largest_kept > 1e-3 * magnitude, size_ > 1);
}

/// Slices are encoded, reduced and decoded in whatever order they come: the bits are the same, and so are the
/// bytes. Every element is announced once.
TEST_P(CompressedMeanTest, PiecesChangeNothing) {
  const std::int64_t d = 5000;
  CompressedMean whole = make(d);
  const auto mask = every_seventh_inactive(d);
  const auto many = make_mpi_communicator(MPI_COMM_WORLD, {{GetParam().staging, 1}});
  CompressedMean sliced = make(d);
  for (std::int64_t t = 1; t <= 3; ++t) {
    const auto y = test::random_gradient(d, rank_, t);
    const auto out = test::to_device(std::vector<float>(y.size(), 0.0F));
    std::vector<int> announced(y.size(), 0);
    sliced.exchange(exec_, *many, phases_, Load{test::to_device(y)}, mask, [&](const ElementRange& range) {
      sliced.decode(exec_, mask, range.begin, range.end, Store{out});
      for (std::int64_t i = range.begin; i < range.end; ++i) ++announced[static_cast<std::size_t>(i)];
    });
    EXPECT_TRUE(test::bitwise_equal(test::to_host(out), mean_of(whole, y, mask))) << "step " << t;
    EXPECT_EQ(announced, std::vector<int>(y.size(), 1));
  }
  EXPECT_EQ(many->bytes_sent().total(), 3 * sliced.bytes_sent());
}

TEST_P(CompressedMeanTest, CountsTheBytesOfTheFormula) {
  const std::int64_t block = GetParam().block == 0 ? 64 * 256 : GetParam().block;
  const std::int64_t d = 64 * 256 * static_cast<std::int64_t>(size_);
  CompressedMean mean = make(d);
  (void)mean_of(mean, test::random_gradient(d, rank_, 1), ActiveMask<MemorySpace>{});
  const std::int64_t bytes = d * GetParam().bits / 8 + 4 * d / block;
  const auto expected = static_cast<std::size_t>(2 * (size_ - 1) * bytes / size_);
  EXPECT_EQ(communicator_->bytes_sent().sent(Traffic::compressed), expected);
  EXPECT_EQ(mean.bytes_sent(), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Codes, CompressedMeanTest,
    testing::Values(Case{1, false, 64, Staging::automatic}, Case{1, false, 2048, Staging::always},
                    Case{1, true, 0, Staging::automatic}, Case{2, false, 128, Staging::automatic},
                    Case{4, false, 256, Staging::always}, Case{8, false, 64, Staging::automatic}),
    [](const auto& test_info) {
      return "bits" + std::to_string(test_info.param.bits) + "block" + std::to_string(test_info.param.block) +
             (test_info.param.mean_abs ? "mean_abs" : "") +
             (test_info.param.staging == Staging::always ? "staged" : "");
    });

}  // namespace
}  // namespace kadam
