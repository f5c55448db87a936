// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/background_mean.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <reference/simulated_ranks.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

int promised = MPI_THREAD_MULTIPLE;

}  // namespace

/// Found before MPI's own: what it says is what the library believes.
extern "C" int MPI_Query_thread(int* provided) {
  *provided = promised;
  return MPI_SUCCESS;
}

namespace kadam {
namespace {

constexpr int lower_levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED};
constexpr std::int64_t d = 1000;

class ThreadLevelTest : public testing::Test {
 protected:
  void TearDown() override { promised = MPI_THREAD_MULTIPLE; }

  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  const int rank_ = communicator_->rank();
  const int size_ = communicator_->size();
  ExecutionSpace exec_;

  void expect_mean(Progress progress) {
    BackgroundMean background(exec_, communicator_, ChunkLayout(d, size_), progress);
    const auto values = test::to_device(test::random_gradient(d, rank_, 1));
    background.start(exec_, values);
    reference::Ranks all;
    for (int r = 0; r < size_; ++r) all.push_back(test::random_gradient(d, r, 1));
    EXPECT_TRUE(test::bitwise_equal(test::to_host(background.mean(exec_)), reference::dense_mean(all)));
  }
};

/// The thread would call MPI while the program does: less than MULTIPLE allows that to nobody.
TEST_F(ThreadLevelTest, AThreadIsRefusedBelowMultiple) {
  for (const int level : lower_levels) {
    promised = level;
    EXPECT_FALSE(communicator_->allows_threads()) << level;
    if (size_ == 1) continue;  // one rank exchanges nothing and starts no thread
    try {
      (void)BackgroundMean(exec_, communicator_, ChunkLayout(d, size_), Progress::thread);
      ADD_FAILURE() << "accepted level " << level;
    } catch (const std::invalid_argument& error) {
      const std::string words = error.what();
      EXPECT_NE(words.find("progress = thread needs MPI_THREAD_MULTIPLE"), std::string::npos) << words;
      EXPECT_NE(words.find("MPI_Init_thread"), std::string::npos) << "what to do: " << words;
      EXPECT_NE(words.find("progress = poll"), std::string::npos) << "or else: " << words;
    }
  }
}

TEST_F(ThreadLevelTest, AThreadExchangesWithMultiple) {
  promised = MPI_THREAD_MULTIPLE;
  EXPECT_TRUE(communicator_->allows_threads());
  expect_mean(Progress::thread);
}

TEST_F(ThreadLevelTest, WithoutAThreadEveryLevelWillDo) {
  for (const int level : lower_levels) {
    promised = level;
    expect_mean(Progress::poll);
    expect_mean(Progress::none);
  }
}

}  // namespace
}  // namespace kadam
