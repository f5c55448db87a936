// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/background_mean.hpp>
#include <kadam/collectives/compressed_mean.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/collectives/low_bit_reduce_scatter.hpp>
#include <kadam/collectives/sparse_mean.hpp>
#include <kadam/comm/exchange.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <vector>

/// Chunks of more blocks than pieces have numbers, each block in a piece of its own if it were allowed. Two
/// pieces that shared a number would take each other's place without a word.
namespace kadam {
namespace {

constexpr std::int64_t block = 64;
constexpr std::int64_t chunk_blocks = static_cast<std::int64_t>(Exchange::most_numbers) + 40;
constexpr std::int64_t many = 2 * block * chunk_blocks;

class MostSlicesTest : public testing::Test {
 protected:
  void SetUp() override {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) GTEST_SKIP() << "two ranks show it, and more of them take longer";
    normal_ = make_mpi_communicator(MPI_COMM_WORLD);
    smallest_ = make_mpi_communicator(MPI_COMM_WORLD, MpiOptions{{Staging::automatic, 4}});
    gradient_ = test::to_device(test::random_gradient(many, normal_->rank(), 1));
  }
  void expect_same(const std::vector<float>& in_small_pieces, const std::vector<float>& in_normal_ones) {
    EXPECT_TRUE(test::bitwise_equal(in_small_pieces, in_normal_ones));
  }
  void expect_replicas(const std::vector<float>& values) {
    EXPECT_TRUE(test::bitwise_equal(values, test::from_rank_zero(values))) << "replicas differ";
  }

  std::shared_ptr<Communicator> normal_;
  std::shared_ptr<Communicator> smallest_;
  Vector<float> gradient_;
  ExecutionSpace exec_;
  Phases phases_;
};

struct StoreDecoded {
  Vector<float> out;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const float value) const { out(i) = value; }
};

TEST_F(MostSlicesTest, OfADenseMeanChangeNothing) {
  const auto mean = [&](Communicator& communicator) {
    DenseMean dense(exec_, communicator, many);
    return test::to_host(dense(exec_, phases_, gradient_));
  };
  const auto got = mean(*smallest_);
  expect_replicas(got);
  expect_same(got, mean(*normal_));
}

TEST_F(MostSlicesTest, OfACompressedMeanChangeNothing) {
  const auto mean = [&](Communicator& communicator) {
    CompressedMean compressed(exec_, make_quantiser("sign"), communicator, many, block);
    const Vector<float> out("out", static_cast<std::size_t>(many));
    const ActiveMask<MemorySpace> all;
    compressed.exchange(exec_, phases_, gradient_, all);
    compressed.decode(exec_, all, 0, many, StoreDecoded{out});
    Kokkos::fence();
    return test::to_host(out);
  };
  const auto got = mean(*smallest_);
  expect_replicas(got);
  expect_same(got, mean(*normal_));
}

TEST_F(MostSlicesTest, OfAReduceScatterChangeNothing) {
  const auto mean = [&](Communicator& communicator) {
    LowBitReduceScatter scatter(exec_, make_quantiser("uniform4"), communicator, many, block, 0.8);
    const auto result = scatter(exec_, phases_, gradient_, 1.0F, {});
    Kokkos::fence();
    return test::to_host(result);
  };
  expect_same(mean(*smallest_), mean(*normal_));
}

/// By all ranks alike, and by the owners of regions.
TEST_F(MostSlicesTest, OfASparseMeanChangeNothing) {
  for (const SparseExchange exchange : {SparseExchange::own, SparseExchange::owner}) {
    const auto parameters = [&](Communicator& communicator) {
      SparseMean mean(exec_, {0.03, block, exchange}, many, communicator);
      const Vector<float> residual("residual", static_cast<std::size_t>(many));
      const Vector<float> x("x", static_cast<std::size_t>(many));
      Kokkos::deep_copy(residual, gradient_);
      mean.deliver(exec_, phases_, residual, x);
      Kokkos::fence();
      return test::to_host(x);
    };
    const auto got = parameters(*smallest_);
    expect_replicas(got);
    expect_same(got, parameters(*normal_));
  }
}

TEST_F(MostSlicesTest, OfABackgroundMeanChangeNothing) {
  const auto mean = [&](const std::shared_ptr<Communicator>& communicator) {
    BackgroundMean background(exec_, communicator, ChunkLayout(many, 2), Progress::none);
    background.start(exec_, gradient_);
    const auto result = background.mean(exec_);
    Kokkos::fence();
    return test::to_host(result);
  };
  const auto got = mean(smallest_);
  expect_replicas(got);
  expect_same(got, mean(normal_));
}

}  // namespace
}  // namespace kadam
