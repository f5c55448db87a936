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

TEST(MpiTransport, KeepsADuplicateOfTheCallersCommunicator) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  const auto split = make_mpi_communicator(half);
  MPI_Comm_free(&half);
  const double value = rank;
  for (const double other : split->all_gather_values({&value, 1}))
    EXPECT_EQ(static_cast<int>(other) % 2, rank % 2);
}

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
