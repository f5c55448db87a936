// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>

namespace kadam {
namespace {

class MpiTransportTest : public testing::TestWithParam<Staging> {
 protected:
  std::shared_ptr<Communicator> communicator_ =
      make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(GetParam()));
  const int rank_ = communicator_->rank();
  const int size_ = communicator_->size();
};

TEST_P(MpiTransportTest, AllToAllWithPiecesOfDifferentSizes) {
  // Rank r sends s + 1 values "100 r + s" to rank s.
  std::vector<float> out;
  std::vector<Piece> send;
  std::vector<Piece> receive;
  std::vector<float> expected;
  for (int s = 0; s < size_; ++s) {
    const auto count = static_cast<std::size_t>(s) + 1;
    send.push_back({out.size() * 4, count * 4});
    out.insert(out.end(), count, static_cast<float>(100 * rank_ + s));
    const auto own = static_cast<std::size_t>(rank_) + 1;
    receive.push_back({expected.size() * 4, own * 4});
    expected.insert(expected.end(), own, static_cast<float>(100 * s + rank_));
  }
  const auto source = test::to_device(out);
  const auto target = test::to_device(std::vector<float>(expected.size(), -1.0F));
  communicator_->all_to_all(ExecutionSpace{}, Traffic::dense, bytes_of(source), send, bytes_of(target),
                            receive);
  EXPECT_EQ(test::to_host(target), expected);
  EXPECT_EQ(communicator_->bytes_sent().sent(Traffic::dense),
            4 * (out.size() - static_cast<std::size_t>(rank_) - 1));
}

TEST_P(MpiTransportTest, AllGatherWithAnEmptyPiece) {
  std::vector<Piece> pieces;
  std::vector<float> expected;
  for (int r = 0; r < size_; ++r) {
    pieces.push_back({expected.size() * 4, static_cast<std::size_t>(r) * 4});
    expected.insert(expected.end(), static_cast<std::size_t>(r), static_cast<float>(r));
  }
  std::vector<float> mine(expected.size(), -1.0F);
  const Piece own = pieces[static_cast<std::size_t>(rank_)];
  std::fill_n(mine.begin() + static_cast<std::ptrdiff_t>(own.offset_bytes / 4), own.bytes / 4,
              static_cast<float>(rank_));
  const auto buffer = test::to_device(mine);
  communicator_->all_gather(ExecutionSpace{}, Traffic::compressed, bytes_of(buffer), pieces);
  EXPECT_EQ(test::to_host(buffer), expected);
}

TEST_P(MpiTransportTest, AllReduceSums) {
  const auto values = test::to_device(std::vector<float>{1.0F, static_cast<float>(rank_)});
  communicator_->all_reduce_sum(ExecutionSpace{}, values);
  EXPECT_EQ(test::to_host(values),
            (std::vector<float>{static_cast<float>(size_), 0.5F * static_cast<float>(size_ * (size_ - 1))}));
  const auto ranks = static_cast<std::size_t>(size_);
  EXPECT_EQ(communicator_->bytes_sent().sent(Traffic::dense), 2 * (ranks - 1) * 8 / ranks) << "as a ring";
}

TEST_P(MpiTransportTest, ValuesComeInRankOrder) {
  const std::vector<double> own = {static_cast<double>(rank_), 0.5};
  const auto all = communicator_->all_gather_values(own);
  ASSERT_EQ(all.size(), 2U * static_cast<unsigned>(size_));
  for (int r = 0; r < size_; ++r) EXPECT_EQ(all[2 * static_cast<std::size_t>(r)], r);
}

TEST_P(MpiTransportTest, SumsAreTheSameOnEveryRank) {
  // In another order than that of ranks the small one would be lost.
  const double own = rank_ == 0 ? 1e16 : rank_ == 1 ? -1e16 : 1.0;
  const double sum = communicator_->sum_over_ranks(own);
  EXPECT_EQ(sum, size_ == 1 ? 1e16 : static_cast<double>(size_ - 2));
  const auto of_ranks = communicator_->all_gather_values({&sum, 1});
  EXPECT_EQ(of_ranks, std::vector<double>(of_ranks.size(), sum));
}

TEST_P(MpiTransportTest, RanksThatDisagreeAllThrow) {
  const std::vector<std::string> names = {"the answer"};
  const std::vector<std::uint64_t> own = {static_cast<std::uint64_t>(rank_)};
  if (size_ == 1) {
    EXPECT_NO_THROW(communicator_->require_equal(names, own));
  } else {
    EXPECT_THROW(communicator_->require_equal(names, own), std::invalid_argument);
  }
}

TEST_P(MpiTransportTest, TwoCommunicatorsOnSplitHalvesWorkAtOnce) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, rank_, &half);
  const auto split = make_mpi_communicator(half, test::mpi_options(GetParam()));
  MPI_Comm_free(&half);  // the library has its own duplicate
  const double value = rank_;
  const auto in_half = split->all_gather_values({&value, 1});
  const auto in_world = communicator_->all_gather_values({&value, 1});
  for (const double other : in_half) EXPECT_EQ(static_cast<int>(other) % 2, rank_ % 2);
  EXPECT_EQ(in_world.size(), static_cast<std::size_t>(size_));
}

INSTANTIATE_TEST_SUITE_P(DirectAndStaged, MpiTransportTest,
                         testing::Values(Staging::automatic, Staging::always));

/// MPI counts with an int: what is longer travels in parts. Lowered from 2^31 - 1 to 7 bytes.
TEST(MpiTransport, CutsWhatIsLongerThanMpiCanCount) {
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD, {{}, 7});
  const auto ranks = static_cast<std::size_t>(communicator->size());
  const auto own = static_cast<std::size_t>(communicator->rank());
  std::vector<float> values(10 * ranks);
  std::iota(values.begin(), values.end(), 1000.0F * static_cast<float>(own));
  std::vector<Piece> pieces;
  std::vector<float> expected;
  for (std::size_t r = 0; r < ranks; ++r) {
    pieces.push_back({40 * r, 40});
    for (std::size_t k = 0; k < 10; ++k)
      expected.push_back(1000.0F * static_cast<float>(r) + static_cast<float>(10 * own + k));
  }
  const auto source = test::to_device(values);
  const auto target = test::to_device(std::vector<float>(values.size(), -1.0F));
  communicator->all_to_all(ExecutionSpace{}, Traffic::dense, bytes_of(source), pieces, bytes_of(target),
                           pieces);
  EXPECT_EQ(test::to_host(target), expected);
}

TEST(MpiTransport, RefusesMessagesThatMpiCannotCount) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 31}) {
    EXPECT_THROW((void)make_mpi_communicator(MPI_COMM_WORLD, {{}, bytes}), std::invalid_argument);
  }
}

TEST(MpiTransport, SplitsByColour) {
  const auto world = make_mpi_communicator(MPI_COMM_WORLD);
  const auto part = world->split(world->rank() / 2);
  EXPECT_EQ(part->rank(), world->rank() % 2);
  EXPECT_EQ(part->size(), std::min(2, world->size() - world->rank() / 2 * 2));
  EXPECT_EQ(world->split_by_node()->size(), world->size());  // the tests run on one machine
}

MpiOptions nodes_of(int ranks_per_node) {
  return test::mpi_options(Staging::automatic, ranks_per_node);
}

/// Consecutive ranks are a node; chunks of ranks with the same place follow each other.
TEST(MpiTransport, FormsTwoLevels) {
  const auto one = make_mpi_communicator(MPI_COMM_WORLD);
  const int n = one->size();
  EXPECT_FALSE(one->has_two_levels());
  EXPECT_EQ(one->own_chunk(), one->rank());
  EXPECT_EQ(&one->across(), one.get());
  for (const int g : {2, 3, 4}) {
    if (n % g != 0) {
      EXPECT_THROW((void)make_mpi_communicator(MPI_COMM_WORLD, nodes_of(g)), std::invalid_argument);
      continue;
    }
    const auto two = make_mpi_communicator(MPI_COMM_WORLD, nodes_of(g));
    ASSERT_TRUE(two->has_two_levels());
    EXPECT_EQ(two->node().size(), g);
    EXPECT_EQ(two->node().rank(), two->rank() % g);
    EXPECT_EQ(two->across().size(), n / g);
    EXPECT_EQ(two->across().rank(), two->rank() / g);
    EXPECT_EQ(two->own_chunk(), two->rank() % g * (n / g) + two->rank() / g);
    const double value = 1.0;
    const std::size_t before = two->bytes_sent().total();
    (void)two->node().all_gather_values({&value, 1});
    EXPECT_EQ(two->bytes_sent().total() - before, 8U * static_cast<unsigned>(g - 1))
        << "counts for the whole";
  }
  EXPECT_THROW((void)make_mpi_communicator(MPI_COMM_WORLD, nodes_of(-1)), std::invalid_argument);
}

/// All ranks of this test share memory.
TEST(MpiTransport, FormsTwoLevelsOfTheRanksThatShareMemory) {
  const auto levels = make_mpi_communicator(MPI_COMM_WORLD, nodes_of(0));
  EXPECT_EQ(levels->has_two_levels(), levels->size() > 1);
  EXPECT_EQ(levels->across().size(), 1);
  EXPECT_EQ(levels->own_chunk(), levels->rank());
}

TEST(MpiTransport, RefusesRanksThatDisagreeOnTheirNodes) {
  const auto alone = make_mpi_communicator(MPI_COMM_WORLD);
  if (alone->size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const int ranks_per_node = alone->rank() == 0 ? 1 : alone->size();
  EXPECT_THROW((void)make_mpi_communicator(MPI_COMM_WORLD, nodes_of(ranks_per_node)), std::invalid_argument);
}

/// What torchrun leaves in the environment of ranks that MPI knows nothing of.
class LaunchedByTorchrun : public testing::Test {
 protected:
  LaunchedByTorchrun() { setenv("WORLD_SIZE", "7", 1); }
  ~LaunchedByTorchrun() override { unsetenv("WORLD_SIZE"); }
};

TEST_F(LaunchedByTorchrun, OneRankOfAWholeWorldIsRefused) {
  MpiOptions alone;
  alone.allow_alone = true;
  const int size = make_mpi_communicator(MPI_COMM_WORLD, alone)->size();
  if (size > 1) {
    EXPECT_EQ(make_mpi_communicator(MPI_COMM_WORLD)->size(), size);
    EXPECT_EQ(make_mpi_communicator(MPI_COMM_SELF)->size(), 1) << "asked for by a program of several ranks";
    return;
  }
  try {
    (void)make_mpi_communicator(MPI_COMM_WORLD);
    ADD_FAILURE() << "each of seven trains alone";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("the launcher started 7 tasks (WORLD_SIZE), but MPI sees one"),
              std::string::npos)
        << error.what();
  }
}

TEST(MpiTransport, RefusesANullCommunicator) {
  EXPECT_THROW((void)make_mpi_communicator(MPI_COMM_NULL), MpiError);
}

}  // namespace
}  // namespace kadam
