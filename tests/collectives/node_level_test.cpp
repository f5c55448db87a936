// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/chunk_gather.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/collectives/node_level.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <reference/number_format.hpp>
#include <reference/simulated_ranks.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

/// What goes between the ranks of a node, and from the owners of chunks through both levels.
namespace kadam {
namespace {

/// Ranks per node, and how messages travel.
class LevelsTest : public testing::TestWithParam<std::tuple<int, Staging>> {
 protected:
  void SetUp() override {
    if (!test::divides_ranks(g_)) GTEST_SKIP() << "not so many ranks per node";
    communicator_ = make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(std::get<1>(GetParam()), g_));
    rank_ = communicator_->rank();
    size_ = communicator_->size();
  }

  /// Chunks of ranks with the same place in their nodes follow each other: those of place 0, of place 1, ...
  [[nodiscard]] int chunk_owner(int chunk) const {
    const int nodes = size_ / g_;
    return chunk % nodes * g_ + chunk / nodes;
  }
  /// The elements of the chunks that ranks with this rank's place own.
  [[nodiscard]] ElementRange own_shard(std::int64_t d) const {
    const int nodes = size_ / g_;
    const int place = g_ == 1 ? 0 : rank_ % g_;
    const ChunkLayout chunks(d, size_);
    return {chunks.chunk(place * nodes).begin, chunks.chunk(place * nodes + nodes - 1).end};
  }

  const int g_ = std::get<0>(GetParam());
  std::shared_ptr<Communicator> communicator_;
  int rank_ = 0;
  int size_ = 1;
  ExecutionSpace exec_;
  Phases phases_;

  template <Number T>
  [[nodiscard]] std::vector<float> node_mean(NodeLevel& node, const std::vector<float>& own) {
    const Vector<const T> values = device_numbers<T>(own);
    const Vector<T> out("out", static_cast<std::size_t>(node.shard().elements()));
    node.mean(exec_, phases_, values, out);
    Kokkos::fence();
    std::vector<float> result;
    for (const T value : test::to_host(out)) result.push_back(to_float(value));
    return result;
  }
  template <Number T>
  static Vector<T> device_numbers(const std::vector<float>& values) {
    if constexpr (std::is_same_v<T, float>) {
      return test::to_device(values);
    } else {
      return test::rounded_to_device<T>(values);
    }
  }

  template <Number T>
  void expect_node_means(const std::string& name) {
    const auto format = reference::Format::named(name);
    for (const std::int64_t d : {0, 1, 64, 65, 301, 5000}) {
      reference::Ranks all;
      for (int r = 0; r < size_; ++r) all.push_back(format.rounded(test::random_gradient(d, r, 1)));
      NodeLevel node(exec_, *communicator_, NodeLevelLayout(communicator_->arrangement(), d, format_of<T>));
      const std::string where = name + " d " + std::to_string(d);
      EXPECT_EQ(node.exists(), g_ > 1);
      EXPECT_EQ(node.layout().ranks(), g_);
      ASSERT_EQ(node.shard(), own_shard(d)) << where;
      if (g_ == 1) continue;
      const ByteCounters before = communicator_->bytes_sent();
      const auto got = node_mean<T>(node, all[static_cast<std::size_t>(rank_)]);
      const auto means = reference::node_means(all, g_);
      const auto mean = format.rounded(means[static_cast<std::size_t>(rank_ / g_)]);
      EXPECT_TRUE(
          test::bitwise_equal(got, {mean.begin() + node.shard().begin, mean.begin() + node.shard().end}))
          << where;
      const std::size_t sent = communicator_->bytes_sent().sent(Traffic::node) - before.sent(Traffic::node);
      EXPECT_EQ(sent, sizeof(T) * static_cast<std::size_t>(d - node.shard().elements())) << where;
      EXPECT_EQ(sent, node.layout().mean(format_of<T>).bytes) << where;
      EXPECT_EQ(communicator_->bytes_sent().total() - before.total(), sent) << "all of it stays inside";
    }
  }

  template <class T>
  void expect_gathered() {
    for (const std::int64_t d : {0, 1, 64, 65, 129, 301, 5000}) {
      const ChunkLayout chunks(d, size_);
      std::vector<T> wanted(static_cast<std::size_t>(d));
      std::vector<T> own(wanted.size(), T{99});
      for (int j = 0; j < size_; ++j) {
        for (auto i = static_cast<std::size_t>(chunks.chunk(j).begin);
             i < static_cast<std::size_t>(chunks.chunk(j).end); ++i) {
          wanted[i] = static_cast<T>(1000 * (chunk_owner(j) + 1) + static_cast<int>(i % 997));
          if (chunk_owner(j) == rank_) own[i] = wanted[i];
        }
      }
      const auto buffer = test::to_device(own);
      const ChunkGather gather(communicator_->arrangement(), d, sizeof(T));
      const ByteCounters before = communicator_->bytes_sent();
      gather(exec_, *communicator_, Traffic::dense, bytes_of(buffer));
      Kokkos::fence();
      EXPECT_EQ(test::to_host(buffer), wanted) << "d " << d;
      const ByteCounters& after = communicator_->bytes_sent();
      // From the formula: what other nodes lack of the own chunk, then what the node lacks of the own shard.
      const auto own_chunk = static_cast<std::size_t>(chunks.chunk(communicator_->own_chunk()).elements());
      const auto shard = static_cast<std::size_t>(own_shard(d).elements());
      const auto nodes = static_cast<std::size_t>(size_ / g_);
      EXPECT_EQ(gather.cost().bytes(Traffic::dense), (nodes - 1) * sizeof(T) * own_chunk) << "d " << d;
      EXPECT_EQ(gather.cost().bytes(Traffic::node), static_cast<std::size_t>(g_ - 1) * sizeof(T) * shard)
          << "d " << d;
      EXPECT_EQ(after.sent(Traffic::dense) - before.sent(Traffic::dense),
                gather.cost().bytes(Traffic::dense));
      EXPECT_EQ(after.sent(Traffic::node) - before.sent(Traffic::node), gather.cost().bytes(Traffic::node));
      EXPECT_EQ(after.total() - before.total(),
                gather.cost().bytes(Traffic::dense) + gather.cost().bytes(Traffic::node));
    }
  }
};

TEST_P(LevelsTest, ANodesMeanIsThatOfItsRanksInRankOrder) {
  expect_node_means<float>("float32");
  expect_node_means<Bfloat16>("bf16");
  expect_node_means<Float16>("fp16");
}

TEST_P(LevelsTest, AShardIsMadeOfTheChunksOfOnePlace) {
  for (const std::int64_t d : {0, 1, 65, 301, 5000}) {
    const ElementRange shard = own_shard(d);
    const ChunkLayout got = communicator_->arrangement().chunks_of_shard(d);
    const ChunkLayout all(d, size_);
    ASSERT_EQ(got.ranks(), size_ / g_);
    EXPECT_EQ(got.elements(), shard.elements());
    for (int j = 0; j < size_; ++j) {
      if (chunk_owner(j) % g_ != rank_ % g_) continue;
      const ElementRange chunk = all.chunk(j);
      const ElementRange in_shard{chunk.begin - shard.begin, chunk.end - shard.begin};
      EXPECT_EQ(got.chunk(chunk_owner(j) / g_), in_shard) << "d " << d << " chunk " << j;
    }
  }
}

/// Of two bytes per element, as a message might have.
TEST_P(LevelsTest, GatherBringsWhatThePlacesOfANodeHave) {
  if (g_ == 1) GTEST_SKIP() << "there are no two levels";
  for (const std::int64_t d : {0, 1, 65, 301, 5000}) {
    const NodeLevel node(exec_, *communicator_, NodeLevelLayout(communicator_->arrangement(), d));
    const auto piece_of = [](const ElementRange& range) { return numbers_piece(range, 2); };
    const ElementRange shard = node.shard();
    std::vector<std::uint16_t> wanted(static_cast<std::size_t>(d));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = static_cast<std::uint16_t>(7 * i + static_cast<std::size_t>(rank_ / g_));
    }
    std::vector<std::uint16_t> own(wanted.size(), 0);
    std::copy(wanted.begin() + shard.begin, wanted.begin() + shard.end, own.begin() + shard.begin);
    const auto buffer = test::to_device(own);
    const ByteCounters before = communicator_->bytes_sent();
    node.gather(exec_, phases_, bytes_of(buffer), piece_of);
    Kokkos::fence();
    EXPECT_EQ(test::to_host(buffer), wanted) << "d " << d;
    const std::size_t sent = communicator_->bytes_sent().sent(Traffic::node) - before.sent(Traffic::node);
    EXPECT_EQ(sent, 2 * static_cast<std::size_t>((g_ - 1) * shard.elements())) << "d " << d;
    EXPECT_EQ(sent, node.layout().gather(piece_of(shard).bytes).bytes);
    EXPECT_EQ(communicator_->bytes_sent().total() - before.total(), sent);
  }
}

TEST_P(LevelsTest, ChunksGoFromTheirOwnersToAllRanks) {
  expect_gathered<float>();
  expect_gathered<std::uint16_t>();
}

INSTANTIATE_TEST_SUITE_P(NodesAndStaging, LevelsTest,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(Staging::automatic, Staging::always)));

/// The worked number of the header.
TEST(ChunkGather, HandSized) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 4) GTEST_SKIP() << "worked for four ranks";
  const auto flat = make_mpi_communicator(MPI_COMM_WORLD);
  EXPECT_EQ(ChunkGather(flat->arrangement(), 256, 4).cost().bytes(Traffic::dense), 768U);
  EXPECT_EQ(ChunkGather(flat->arrangement(), 256, 4).cost().bytes(Traffic::node), 0U);
  const auto levels = make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(Staging::automatic, 2));
  EXPECT_EQ(ChunkGather(levels->arrangement(), 256, 4).cost().bytes(Traffic::dense), 256U);
  EXPECT_EQ(ChunkGather(levels->arrangement(), 256, 4).cost().bytes(Traffic::node), 512U);
  EXPECT_EQ(NodeLevelLayout(levels->arrangement(), 1024).mean().bytes, 2048U);
}

/// Means by a library of the devices' vendor are made without parts and without kernels.
TEST(NodeLevelLayout, NeedsNoPartsWhereALibraryMakesTheMeans) {
  Arrangement ranks = Arrangement::of_nodes(2, 2);
  const Cost by_messages = DenseMeanLayout(ranks, 1024).cost();
  ranks.node_by_library = true;
  const Cost by_library = DenseMeanLayout(ranks, 1024).cost();
  EXPECT_EQ(by_messages.memory.workspace_bytes - by_library.memory.workspace_bytes, 4U * 1024);
  EXPECT_EQ(by_messages.work.size() - by_library.work.size(), 1U);
  EXPECT_EQ(by_library.bytes(Traffic::node), by_messages.bytes(Traffic::node));
}

}  // namespace
}  // namespace kadam
