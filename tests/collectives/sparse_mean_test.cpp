// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/sparse_mean.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <reference/sparse_mean.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace kadam::sparse_mean_test {
namespace {

struct Case {
  SparseExchange exchange;
  std::int64_t select_block;
  double density;
  Staging staging;
  SparseValues values = SparseValues::exact;

  [[nodiscard]] bool has_two_levels() const { return values == SparseValues::two_levels; }
  [[nodiscard]] SparseOptions options() const { return {density, select_block, exchange, values}; }
  [[nodiscard]] reference::SparseMean reference_mean() const {
    return {density, select_block, has_two_levels(), exchange == SparseExchange::owner};
  }
};

class SparseMeanTest : public testing::TestWithParam<Case> {
 protected:
  std::shared_ptr<Communicator> communicator_ =
      make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(GetParam().staging));
  const int rank_ = communicator_->rank();
  const int size_ = communicator_->size();
  ExecutionSpace exec_;
  Phases phases_;

  [[nodiscard]] SparseMean make(std::int64_t d) const {
    return {exec_, GetParam().options(), d, *communicator_};
  }
  void deliver(SparseMean& mean, const Vector<float>& residual, const Vector<float>& x) {
    mean.deliver(exec_, phases_, residual, x);
    exec_.fence();
  }
  /// x - mean of the residual over ranks, in double.
  [[nodiscard]] std::vector<double> conserved(const Vector<float>& residual, const Vector<float>& x) const {
    const auto own = test::to_host(residual);
    const auto sum = test::sum_over_ranks({own.begin(), own.end()});
    const auto parameters = test::to_host(x);
    std::vector<double> values(parameters.begin(), parameters.end());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= sum[i] / size_;
    return values;
  }
};

TEST_P(SparseMeanTest, EqualsSimulatedRanks) {
  // The last is long enough for LargeTopK if it is one block, or one per owner.
  for (const std::int64_t d : {1, 3, 64, 65, 301, 5000, GetParam().select_block == 0 ? 300000 : 9001}) {
    SparseMean mean = make(d);
    const auto x = test::to_device(test::random_vector(d, 2));
    const auto residual = test::to_device(std::vector<float>(static_cast<std::size_t>(d), 0.0F));
    std::vector<float> expected = test::to_host(x);
    reference::Ranks owed = reference::zeros(size_, d);
    for (std::int64_t t = 1; t <= 3; ++t) {
      for (int r = 0; r < size_; ++r) {
        const auto step = test::random_gradient(d, r, t);
        for (std::size_t i = 0; i < step.size(); ++i) owed[static_cast<std::size_t>(r)][i] += step[i];
      }
      Kokkos::deep_copy(residual, test::to_device(owed[static_cast<std::size_t>(rank_)]));
      deliver(mean, residual, x);
      const auto applied = GetParam().reference_mean()(owed);
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= applied[i];
      EXPECT_TRUE(test::bitwise_equal(test::to_host(x), expected)) << "d " << d << " step " << t;
      EXPECT_TRUE(test::bitwise_equal(test::to_host(residual), owed[static_cast<std::size_t>(rank_)]))
          << "d " << d << " step " << t;
    }
  }
}

TEST_P(SparseMeanTest, NothingIsLostAndReplicasStayEqual) {
  for (const std::int64_t d : {1, 2, 65, 301, 9000}) {
    SparseMean mean = make(d);
    const auto x = test::to_device(test::random_vector(d, 2));
    const auto residual = test::to_device(test::random_gradient(d, rank_, 1));
    const auto before = conserved(residual, x);
    for (int t = 0; t < 3; ++t) deliver(mean, residual, x);
    const auto after = conserved(residual, x);
    for (std::size_t i = 0; i < after.size(); ++i)
      ASSERT_NEAR(after[i], before[i], 1e-6 * (1.0 + std::fabs(before[i]))) << "d " << d << " element " << i;
    const auto parameters = test::to_host(x);
    EXPECT_TRUE(test::bitwise_equal(parameters, test::from_rank_zero(parameters))) << "d " << d;
  }
}

TEST_P(SparseMeanTest, SendsWhatItSays) {
  for (const std::int64_t d : {0, 1, 301, 9000}) {
    SparseMean mean = make(d);
    const auto x = test::to_device(test::random_vector(d, 2));
    const std::size_t before = communicator_->bytes_sent().total();
    deliver(mean, test::to_device(test::random_gradient(d, rank_, 1)), x);
    EXPECT_EQ(communicator_->bytes_sent().total() - before, mean.layout().cost(1).bytes(Traffic::sparse))
        << "d " << d;
    const ByteCounters& sent = communicator_->bytes_sent();
    EXPECT_EQ(sent.sent(Traffic::sparse), sent.total() - sent.sent(Traffic::control));
  }
}

TEST_P(SparseMeanTest, SendsAsManyBytesAsItsFormula) {
  const auto n = static_cast<std::size_t>(size_);
  const std::size_t blocks = 12;
  const SparseMean own(exec_, {0.01, 4096, SparseExchange::own}, 4096 * 12, *communicator_);
  const SparseMean owner(exec_, {0.01, 4096, SparseExchange::owner}, 4096 * 12, *communicator_);
  const SparseMean levels(exec_, {0.01, 4096, SparseExchange::own, SparseValues::two_levels}, 4096 * 12 + 100,
                          *communicator_);
  EXPECT_EQ(levels.layout().cost(1).bytes(Traffic::sparse), (n - 1) * (blocks * 80 + 10));
  EXPECT_EQ(own.layout().cost(1).bytes(Traffic::sparse), (n - 1) * blocks * 228);
  EXPECT_EQ(owner.layout().cost(1).bytes(Traffic::sparse), 2 * (n - 1) * (blocks / n) * 228);
}

/// The messages to other ranks.
class CountMessages final : public ExchangeObserver {
 public:
  void exchange_begins(Traffic /*traffic*/) override {}
  void sends(Traffic /*traffic*/, int /*to*/, std::size_t /*bytes*/) override { ++count; }
  void has_arrived(Traffic /*traffic*/, int /*from*/, std::size_t /*bytes*/) override {}
  void exchange_ends(Traffic /*traffic*/) override {}
  std::size_t count = 0;
};

/// Two and a half times 2^19 elements are three slices where kernels run on the host, though their message
/// of 8 KB is not long enough for two.
TEST(SparseMeanSlices, AreNoLongerThanOthersThoughTheirMessagesAreShort) {
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD);
  const int rank = communicator->rank();
  const ExecutionSpace exec;
  Phases phases;
  constexpr std::int64_t d = 5 * (std::int64_t{1} << 18U);
  const std::size_t slices = kernels_run_on_host ? 3 : 1;
  SparseMean mean(exec, {1.0 / 1024, 4096, SparseExchange::own}, d, *communicator);
  const auto observer = std::make_shared<CountMessages>();
  communicator->observe(observer);
  mean.deliver(exec, phases, test::to_device(test::random_gradient(d, rank, 1)),
               test::to_device(test::random_vector(d, 2)));
  exec.fence();
  EXPECT_EQ(observer->count, slices * static_cast<std::size_t>(communicator->size() - 1));
}

/// Each rank sends its largest entry of every block; ranks 0 and 1 choose the same in the first block only.
TEST_P(SparseMeanTest, CountsTheCoordinatesThatSeveralRanksSent) {
  SparseMean mean(exec_, {0.25, 4, GetParam().exchange}, 16, *communicator_);
  EXPECT_FALSE(mean.overlap(exec_).has_value()) << "before the first delivery";
  std::vector<float> own(16, 0.0F);
  own[rank_ < 2 ? 1 : 2] = -2.0F;
  own[static_cast<std::size_t>(4 + rank_)] = 1.0F;
  if (rank_ == 0) own[8] = 3.0F;  // the last block is empty: zeros fill it up, which nobody counts
  const auto x = test::to_device(std::vector<float>(16, 0.0F));
  deliver(mean, test::to_device(own), x);
  // Touched: 1 (and 2), 4 ... 3 + n, 8. Shared: 1, and 2 where there are ranks 2 and 3.
  const std::vector<std::optional<double>> expected = {std::nullopt, 1.0 / 4.0, 1.0 / 6.0, 2.0 / 7.0};
  for (int again = 0; again < 2; ++again) {
    const auto got = mean.overlap(exec_);
    ASSERT_EQ(got.has_value(), size_ > 1);
    if (got) {
      EXPECT_DOUBLE_EQ(*got, *expected.at(static_cast<std::size_t>(size_ - 1)));
    }
  }
}

TEST_P(SparseMeanTest, OfNothingButZerosThereIsNoOverlap) {
  SparseMean mean = make(301);
  const auto zeros = test::to_device(std::vector<float>(301, 0.0F));
  deliver(mean, zeros, test::to_device(test::random_vector(301, 2)));
  EXPECT_FALSE(mean.overlap(exec_).has_value());
}

TEST_P(SparseMeanTest, RefusesALongSelectBlock) {
  EXPECT_THROW(SparseMean(exec_, {0.01, 65537, GetParam().exchange}, 10, *communicator_),
               std::invalid_argument);
}

TEST_P(SparseMeanTest, RefusesTwoLevelsOfOwnersAndLongBlocks) {
  const auto make_with = [&](SparseExchange exchange, std::int64_t block) {
    return SparseMean(exec_, {0.01, block, exchange, SparseValues::two_levels}, 10, *communicator_);
  };
  EXPECT_THROW(make_with(SparseExchange::owner, 64), std::invalid_argument);
  EXPECT_THROW(make_with(SparseExchange::own, 0), std::invalid_argument);
  EXPECT_THROW(make_with(SparseExchange::own, 4097), std::invalid_argument);
  EXPECT_NO_THROW(make_with(SparseExchange::own, 4096));
}

INSTANTIATE_TEST_SUITE_P(
    Exchanges, SparseMeanTest,
    testing::Values(Case{SparseExchange::own, 64, 0.05, Staging::automatic},
                    Case{SparseExchange::own, 4096, 0.01, Staging::always},
                    Case{SparseExchange::own, 0, 0.02, Staging::automatic},
                    Case{SparseExchange::own, 100, 1.0, Staging::automatic},
                    Case{SparseExchange::own, 64, 0.05, Staging::always, SparseValues::two_levels},
                    Case{SparseExchange::own, 4096, 1.0 / 64, Staging::automatic, SparseValues::two_levels},
                    Case{SparseExchange::own, 100, 1.0, Staging::automatic, SparseValues::two_levels},
                    Case{SparseExchange::owner, 64, 0.05, Staging::always},
                    Case{SparseExchange::owner, 1000, 0.01, Staging::automatic},
                    Case{SparseExchange::owner, 1, 0.01, Staging::automatic},
                    Case{SparseExchange::owner, 0, 0.02, Staging::always},
                    Case{SparseExchange::owner, 0, 1.0, Staging::automatic}),
    [](const auto& test_info) {
      const Case& its = test_info.param;
      std::string name = its.exchange == SparseExchange::own ? "own" : "owner";
      name.append("_block_").append(std::to_string(its.select_block));
      name.append(its.density == 1.0 ? "_all" : "");
      name.append(its.has_two_levels() ? "_two_levels" : "");
      return name.append(its.staging == Staging::always ? "_staged" : "");
    });

}  // namespace
}  // namespace kadam::sparse_mean_test
