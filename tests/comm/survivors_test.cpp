// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/mpi_world.hpp>
#include <support/wires.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

/// A rank "dies" here by giving up its communicator: its connections end, and nobody listens any more. The
/// process lives on, to be compared with. scripts/soak.sh --deaths kills processes.
namespace kadam {
namespace {

std::shared_ptr<Communicator> connect(double connect_seconds) {
  return test::Wire{true, Staging::automatic}.connect(1, 20.0, connect_seconds);
}

std::vector<double> ranks_of(Communicator& communicator, int own) {
  const double value = own;
  return communicator.all_gather_values({&value, 1});
}

std::vector<double> all_but(int ranks, const std::vector<int>& gone) {
  std::vector<double> left;
  for (int rank = 0; rank < ranks; ++rank) {
    if (std::find(gone.begin(), gone.end(), rank) == gone.end()) left.push_back(rank);
  }
  return left;
}

/// Of the PeerFailure that it throws.
template <class Call>
std::string words_of(const Call& call) {
  try {
    call();
  } catch (const PeerFailure& failure) {
    return failure.what();
  }
  return "nothing was thrown";
}

class SurvivorsTest : public testing::Test {
 protected:
  SurvivorsTest() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  /// Whoever still has a communicator may go on only when all have seen the failure.
  static void all_come_here() { MPI_Barrier(MPI_COMM_WORLD); }

  int rank_ = 0;
  int ranks_ = 1;
};

/// One after the other, from the middle, down to one rank.
TEST_F(SurvivorsTest, GoOnWithoutThoseThatHaveEnded) {
  std::shared_ptr<Communicator> all = connect(20.0);
  EXPECT_TRUE(all->survives_failures());
  std::vector<int> gone;
  for (int victim : {1, 0, 3, 2}) {
    if (victim >= ranks_ || static_cast<int>(gone.size()) + 1 >= ranks_) continue;
    if (victim == rank_) all.reset();
    gone.push_back(victim);
    if (all == nullptr) continue;
    EXPECT_THROW((void)ranks_of(*all, rank_), PeerFailure) << "without " << victim;
    const std::shared_ptr<Communicator> left = all->survivors();
    EXPECT_EQ(ranks_of(*left, rank_), all_but(ranks_, gone));
    const std::shared_ptr<Communicator> copy = left->duplicate();
    EXPECT_EQ(ranks_of(*copy, rank_), all_but(ranks_, gone));
    all = left;
  }
  all_come_here();
}

/// A thread that waits in an exchange of its own ends as well, though nobody in that exchange is gone.
TEST_F(SurvivorsTest, EndExchangesOfAllThatCameFromTheSame) {
  if (ranks_ < 3) GTEST_SKIP() << "needs 3 ranks";
  std::shared_ptr<Communicator> all = connect(20.0);
  std::shared_ptr<Communicator> pair = all->split(rank_ < 2 ? 0 : 1);
  all_come_here();
  if (rank_ == 2) {
    pair.reset();
    all.reset();
  } else {
    bool has_failed = false;
    std::thread waiting([&] {
      // Rank 1 of the pair never comes.
      if (rank_ != 0) return;
      try {
        (void)ranks_of(*pair, rank_);
      } catch (const PeerFailure&) {
        has_failed = true;
      }
    });
    EXPECT_THROW((void)ranks_of(*all, rank_), PeerFailure);
    const std::shared_ptr<Communicator> left = all->survivors();
    waiting.join();
    EXPECT_EQ(has_failed, rank_ == 0);
    // Also later, and at once: its own send tells it.
    const std::string said = words_of([&] { (void)ranks_of(*pair, rank_); });
    EXPECT_NE(said.find("has ended"), std::string::npos) << said;
    EXPECT_EQ(ranks_of(*left, rank_), all_but(ranks_, {2}));
  }
  all_come_here();
}

/// Who says nothing may be alive behind a cut cable: the larger part goes on, and it alone.
TEST_F(SurvivorsTest, LeaveOutWhoIsSilentIfTheyAreMore) {
  if (ranks_ < 2) GTEST_SKIP() << "needs 2 ranks";
  std::shared_ptr<Communicator> all = connect(0.5);
  const int silent = ranks_ - 1;
  if (rank_ != silent) {
    const std::shared_ptr<Communicator> left = all->survivors();
    EXPECT_EQ(ranks_of(*left, rank_), all_but(ranks_, {silent}));
    all_come_here();
  } else {
    all_come_here();
    EXPECT_THROW((void)all->survivors(), PeerFailure);
  }
  all_come_here();
}

/// Ranks come at different times; one that is late only is not left out.
TEST_F(SurvivorsTest, WaitForWhoComesLate) {
  if (ranks_ < 3) GTEST_SKIP() << "needs 3 ranks";
  std::shared_ptr<Communicator> all = connect(20.0);
  if (rank_ == 1) {
    all.reset();
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(rank_ == 0 ? 400 : 0));
    EXPECT_EQ(ranks_of(*all->survivors(), rank_), all_but(ranks_, {1}));
  }
  all_come_here();
}

/// Others ask who is left: who connects with them meanwhile, for what was before, hears of it.
TEST_F(SurvivorsTest, CallWhoConnectsMeanwhile) {
  if (ranks_ < 2) GTEST_SKIP() << "needs 2 ranks";
  std::shared_ptr<Communicator> all = connect(20.0);
  // It calls the others, and none calls it: it has no one to wait for.
  if (rank_ == ranks_ - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_THROW((void)ranks_of(*all->duplicate(), rank_), PeerFailure);
  }
  EXPECT_EQ(ranks_of(*all->survivors(), rank_), all_but(ranks_, {}));
  all_come_here();
}

/// One more ends while the others look who is there, sooner or later.
TEST_F(SurvivorsTest, AreAskedAgainWhereOneMoreEnds) {
  if (ranks_ < 4) GTEST_SKIP() << "needs 4 ranks";
  for (int round = 0; round < 12; ++round) {
    std::shared_ptr<Communicator> all = connect(20.0);
    all_come_here();
    if (rank_ == 1) {
      all.reset();
    } else if (rank_ == 2) {
      std::thread late([&] {
        EXPECT_NO_THROW({
          try {
            (void)all->survivors();
          } catch (const PeerFailure&) {
          }
        });
      });
      late.join();
      all.reset();
    } else {
      // What rank 2 was part of fails as soon as it is gone.
      std::shared_ptr<Communicator> left = all->survivors();
      for (int attempt = 0; attempt < 4; ++attempt) {
        try {
          if (left->size() == 2 && ranks_of(*left, rank_) == all_but(ranks_, {1, 2})) break;
          std::this_thread::sleep_for(std::chrono::milliseconds(round));
          (void)ranks_of(*left, rank_);
        } catch (const PeerFailure&) {
          left = left->survivors();
        }
      }
      EXPECT_EQ(ranks_of(*left, rank_), all_but(ranks_, {1, 2}));
    }
    all_come_here();
  }
}

TEST_F(SurvivorsTest, AreRefusedInWordsWhereNobodyCanGoOn) {
  const auto mpi = make_mpi_communicator(MPI_COMM_WORLD);
  if (mpi->survives_failures()) GTEST_SKIP() << "this MPI tolerates faults";
  try {
    (void)mpi->survivors();
    ADD_FAILURE() << "expected a PeerFailure";
  } catch (const PeerFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("--with-ft ulfm"), std::string::npos);
  }
}

}  // namespace
}  // namespace kadam
