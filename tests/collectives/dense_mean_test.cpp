// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <reference/number_format.hpp>
#include <reference/simulated_ranks.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace kadam {
namespace {

std::vector<std::vector<float>> gradients_of_all(std::int64_t elements, int ranks) {
  std::vector<std::vector<float>> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(test::random_gradient(elements, rank, 1));
  return all;
}

class DenseMeanTest : public testing::TestWithParam<Staging> {
 protected:
  std::shared_ptr<Communicator> communicator_ =
      make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(GetParam()));
  const int rank_ = communicator_->rank();
  const int size_ = communicator_->size();
  ExecutionSpace exec_;
  Phases phases_;
};

TEST_P(DenseMeanTest, EqualsTheSumInRankOrderToTheLastBit) {
  for (const std::int64_t d : {0, 1, 5, 64, 65, 301, 4096, 100003}) {
    const auto all = gradients_of_all(d, size_);
    DenseMean mean(exec_, *communicator_, d);
    const std::size_t before = communicator_->bytes_sent().sent(Traffic::dense);
    const auto own = test::to_device(all[static_cast<std::size_t>(rank_)]);
    const auto got = test::to_host(mean(exec_, phases_, own));
    EXPECT_TRUE(test::bitwise_equal(got, reference::dense_mean(all))) << "d " << d;
    EXPECT_EQ(communicator_->bytes_sent().sent(Traffic::dense) - before,
              mean.layout().cost().bytes(Traffic::dense));
  }
}

TEST_P(DenseMeanTest, SendsWhatARingSends) {
  const auto n = static_cast<std::size_t>(size_);
  const std::size_t d = 64 * 12 * n;
  const DenseMean mean(exec_, *communicator_, static_cast<std::int64_t>(d));
  EXPECT_EQ(mean.layout().cost().bytes(Traffic::dense), 2 * (n - 1) * 4 * d / n);
}

/// In bf16: what is sent, both ways, has half the bytes; the sum is float32 and is rounded once.
TEST_P(DenseMeanTest, OfAGradientIsInItsOwnFormat) {
  const auto bfloat16 = reference::Format::named("bf16");
  for (const std::int64_t d : {0, 5, 301, 4096}) {
    auto all = gradients_of_all(d, size_);
    for (auto& gradient : all) gradient = bfloat16.rounded(gradient);
    DenseMean mean(exec_, *communicator_, d, NumberFormat::bfloat16);
    const std::size_t before = communicator_->bytes_sent().sent(Traffic::dense);
    const Gradient own = test::to_gradient("bf16", all[static_cast<std::size_t>(rank_)]);
    const Gradient got = mean.of_gradient(exec_, phases_, own);
    ASSERT_EQ(got.format(), NumberFormat::bfloat16);
    const Vector<float> as_float32("as_float32", static_cast<std::size_t>(d));
    scale_numbers(exec_, 1.0F, got, as_float32);
    Kokkos::fence();
    EXPECT_TRUE(test::bitwise_equal(test::to_host(as_float32), bfloat16.rounded(reference::dense_mean(all))));
    const std::size_t sent = communicator_->bytes_sent().sent(Traffic::dense) - before;
    EXPECT_EQ(sent, mean.layout().cost(NumberFormat::bfloat16).bytes(Traffic::dense));
    EXPECT_EQ(2 * sent, mean.layout().cost(NumberFormat::float32).bytes(Traffic::dense));
    if (size_ > 1 && d > 0) {
      const Vector<const float> wider = as_float32;
      EXPECT_THROW((void)mean(exec_, phases_, wider), std::logic_error);
    }
  }
}

/// In two levels: the mean of the nodes' means, in both formats; what goes between nodes shrinks by the ranks
/// of a node.
TEST_P(DenseMeanTest, InTwoLevelsIsTheMeanOfTheNodesMeans) {
  for (const int g : {2, 3, 4}) {
    if (!test::divides_ranks(g)) continue;
    const auto levels = make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(GetParam(), g));
    for (const std::string name : {"float32", "bf16"}) {
      const auto format = reference::Format::named(name);
      for (const std::int64_t d : {0, 1, 65, 301, 4096, 100003}) {
        auto all = gradients_of_all(d, size_);
        for (auto& gradient : all) gradient = format.rounded(gradient);
        auto nodes = reference::node_means(all, g);
        for (auto& node : nodes) node = format.rounded(node);
        const Gradient own = test::to_gradient(name, all[static_cast<std::size_t>(rank_)]);
        DenseMean mean(exec_, *levels, d, own.format());
        const ByteCounters before = levels->bytes_sent();
        const Gradient got = mean.of_gradient(exec_, phases_, own);
        const Vector<float> as_float32("as_float32", static_cast<std::size_t>(d));
        scale_numbers(exec_, 1.0F, got, as_float32);
        Kokkos::fence();
        EXPECT_TRUE(
            test::bitwise_equal(test::to_host(as_float32), format.rounded(reference::dense_mean(nodes))))
            << name << ", d " << d << ", nodes of " << g;
        const Vector<float> memory = mean.own_memory_of(got);
        EXPECT_EQ(memory.extent(0), name == "float32" && size_ > 1 ? static_cast<std::size_t>(d) : 0);
        if (memory.extent(0) > 0) {
          got.visit([&](const auto& values) {
            EXPECT_EQ(static_cast<const void*>(memory.data()), static_cast<const void*>(values.data()));
          });
        }
        const auto sent = [&](Traffic traffic) {
          return levels->bytes_sent().sent(traffic) - before.sent(traffic);
        };
        EXPECT_EQ(sent(Traffic::dense), mean.layout().cost(own.format()).bytes(Traffic::dense));
        EXPECT_EQ(sent(Traffic::node), mean.layout().cost(own.format()).bytes(Traffic::node));
      }
    }
  }
}

TEST_P(DenseMeanTest, InTwoLevelsSendsOnePartBetweenNodes) {
  for (const std::size_t g : {std::size_t{2}, std::size_t{4}}) {
    if (!test::divides_ranks(static_cast<int>(g))) continue;
    const auto n = static_cast<std::size_t>(size_);
    const std::size_t d = 64 * 12 * n;
    const auto levels =
        make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(GetParam(), static_cast<int>(g)));
    const DenseMean mean(exec_, *levels, static_cast<std::int64_t>(d));
    EXPECT_EQ(mean.layout().cost().bytes(Traffic::dense), 2 * (n / g - 1) * 4 * d / n);
    EXPECT_EQ(mean.layout().cost().bytes(Traffic::node), 2 * (g - 1) * 4 * d / g);
  }
}

struct LoadFrom {
  Vector<float> values;
  KOKKOS_FUNCTION float operator()(const std::int64_t i) const { return values(i); }
};

struct StoreTo {
  Vector<float> values;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const float mean) const { values(i) = mean; }
};

/// The part of the whole mean, in both formats; what ranks make of their parts goes to those that lack it.
TEST_P(DenseMeanTest, OfAShardIsThatPartOfTheWhole) {
  for (const int ranks_per_node : {1, 2, size_}) {
    if (!test::divides_ranks(ranks_per_node)) continue;
    const auto communicator =
        make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(GetParam(), ranks_per_node));
    for (const std::int64_t d : {0, 5, 64, 301, 4096}) {
      for (const NumberFormat format : {NumberFormat::float32, NumberFormat::bfloat16}) {
        SCOPED_TRACE(testing::Message() << "d " << d << ", nodes of " << ranks_per_node);
        DenseMean whole(exec_, *communicator, d, format);
        DenseMean mean(exec_, *communicator, d, format, Received::shard);
        const ElementRange& range = mean.layout().received();
        EXPECT_EQ(mean.sum_over_shards(static_cast<double>(range.elements())), static_cast<double>(d));
        const Gradient own = test::to_gradient(format == NumberFormat::float32 ? "float32" : "bf16",
                                               gradients_of_all(d, size_)[static_cast<std::size_t>(rank_)]);
        const Vector<float> expected("expected", static_cast<std::size_t>(d));
        scale_numbers(exec_, 1.0F, whole.of_gradient(exec_, phases_, own), expected);
        const auto sent = [&] {
          const ByteCounters& all = communicator->bytes_sent();
          return std::pair(all.sent(Traffic::dense), all.sent(Traffic::node));
        };
        const auto [dense, node] = sent();
        const Gradient got = mean.of_gradient(exec_, phases_, own);
        ASSERT_EQ(got.elements(), range.elements());
        const Vector<float> x("x", static_cast<std::size_t>(d));
        const Vector<float> part = Kokkos::subview(x, Kokkos::make_pair(range.begin, range.end));
        scale_numbers(exec_, 1.0F, got, part);
        mean.gather(exec_, phases_, x);
        exec_.fence();
        EXPECT_TRUE(test::bitwise_equal(test::to_host(x), test::to_host(expected)));
        const auto [dense_after, node_after] = sent();
        const Cost cost = mean.layout().cost(format);
        const Cost gather = mean.layout().gather_cost();
        EXPECT_EQ(dense_after - dense, cost.bytes(Traffic::dense) + gather.bytes(Traffic::dense));
        EXPECT_EQ(node_after - node, cost.bytes(Traffic::node) + gather.bytes(Traffic::node));
      }
    }
  }
}

TEST_P(DenseMeanTest, ASubsetTouchesItsRangesAlone) {
  const std::int64_t d = 500;
  const auto all = gradients_of_all(d, size_);
  const std::vector<ElementRange> ranges = {{3, 40}, {77, 78}, {400, 500}};
  DenseSubset subset(exec_, *communicator_, ranges);
  const auto values = test::to_device(all[static_cast<std::size_t>(rank_)]);
  const auto out = test::to_device(std::vector<float>(static_cast<std::size_t>(d), -9.0F));
  subset.exchange(exec_, phases_, LoadFrom{values});
  subset.decode(exec_, 0, 450, StoreTo{out});
  Kokkos::fence();
  const auto mean = reference::dense_mean(all);
  const auto got = test::to_host(out);
  for (std::int64_t i = 0; i < d; ++i) {
    const bool inside = (i >= 3 && i < 40) || i == 77 || (i >= 400 && i < 450);
    EXPECT_EQ(got[static_cast<std::size_t>(i)], inside ? mean[static_cast<std::size_t>(i)] : -9.0F) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(DirectAndStaged, DenseMeanTest,
                         testing::Values(Staging::automatic, Staging::always));

}  // namespace
}  // namespace kadam
