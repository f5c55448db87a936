// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <support/host_views.hpp>
#include <support/wires.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

namespace kadam {
namespace {

/// Over each wire, messages as they are and staged.
class TransportTest : public testing::TestWithParam<test::Wire> {
 protected:
  std::shared_ptr<Communicator> communicator_ = GetParam().connect();
  const int rank_ = communicator_->rank();
  const int size_ = communicator_->size();
};

TEST_P(TransportTest, AllToAllWithPiecesOfDifferentSizes) {
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

TEST_P(TransportTest, AllGatherWithAnEmptyPiece) {
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

TEST_P(TransportTest, AllReduceSums) {
  const auto values = test::to_device(std::vector<float>{1.0F, static_cast<float>(rank_)});
  communicator_->all_reduce_sum(ExecutionSpace{}, values);
  EXPECT_EQ(test::to_host(values),
            (std::vector<float>{static_cast<float>(size_), 0.5F * static_cast<float>(size_ * (size_ - 1))}));
  const auto ranks = static_cast<std::size_t>(size_);
  EXPECT_EQ(communicator_->bytes_sent().sent(Traffic::dense), 2 * (ranks - 1) * 8 / ranks) << "as a ring";
}

TEST_P(TransportTest, ValuesComeInRankOrder) {
  const std::vector<double> own = {static_cast<double>(rank_), 0.5};
  const auto all = communicator_->all_gather_values(own);
  ASSERT_EQ(all.size(), 2U * static_cast<unsigned>(size_));
  for (int r = 0; r < size_; ++r) EXPECT_EQ(all[2 * static_cast<std::size_t>(r)], r);
}

TEST_P(TransportTest, SumsAreTheSameOnEveryRank) {
  // In another order than that of ranks the small one would be lost.
  const double own = rank_ == 0 ? 1e16 : rank_ == 1 ? -1e16 : 1.0;
  const double sum = communicator_->sum_over_ranks(own);
  EXPECT_EQ(sum, size_ == 1 ? 1e16 : static_cast<double>(size_ - 2));
  const auto of_ranks = communicator_->all_gather_values({&sum, 1});
  EXPECT_EQ(of_ranks, std::vector<double>(of_ranks.size(), sum));
}

TEST_P(TransportTest, RanksThatDisagreeAllThrow) {
  const std::vector<std::string> names = {"the answer"};
  const std::vector<std::uint64_t> own = {static_cast<std::uint64_t>(rank_)};
  if (size_ == 1) {
    EXPECT_NO_THROW(communicator_->require_equal(names, own));
  } else {
    EXPECT_THROW(communicator_->require_equal(names, own), std::invalid_argument);
  }
}

TEST_P(TransportTest, TwoHalvesWorkAtOnce) {
  const auto half = communicator_->split(rank_ % 2);
  const double value = rank_;
  const auto in_half = half->all_gather_values({&value, 1});
  const auto in_all = communicator_->all_gather_values({&value, 1});
  EXPECT_EQ(half->rank(), rank_ / 2);
  for (const double other : in_half) EXPECT_EQ(static_cast<int>(other) % 2, rank_ % 2);
  EXPECT_EQ(in_all.size(), static_cast<std::size_t>(size_));
}

/// Those of this test share memory.
TEST_P(TransportTest, SplitsByColourAndByNode) {
  const auto part = communicator_->split(rank_ / 2);
  EXPECT_EQ(part->rank(), rank_ % 2);
  EXPECT_EQ(part->size(), std::min(2, size_ - rank_ / 2 * 2));
  EXPECT_EQ(communicator_->split_by_node()->size(), size_);
}

TEST_P(TransportTest, DuplicatesDoNotMeet) {
  if (!communicator_->allows_threads()) GTEST_SKIP() << "this MPI has no threads";
  const auto copy = communicator_->duplicate();
  const double first = rank_;
  const double second = 100.0 + rank_;
  // In another order on every second rank: what waits for the other wire is not taken from this one.
  std::vector<double> in_copy;
  std::thread other([&] { in_copy = copy->all_gather_values({&second, 1}); });
  const auto all = communicator_->all_gather_values({&first, 1});
  other.join();
  for (int r = 0; r < size_; ++r) {
    EXPECT_EQ(all[static_cast<std::size_t>(r)], r);
    EXPECT_EQ(in_copy[static_cast<std::size_t>(r)], 100.0 + r);
  }
}

/// What a rank says that waits for one that does not come.
template <class Call>
std::string failure_of(const Call& call) {
  try {
    call();
  } catch (const PeerFailure& failure) {
    return failure.what();
  }
  return "nothing failed";
}

/// One that waits in an exchange, or in a gather for a rank that waits itself for the missing one.
TEST_P(TransportTest, NamesTheRankThatDoesNotCome) {
  if (size_ == 1) GTEST_SKIP() << "nobody to wait for";
  for (const int ranks_per_node : {1, 2}) {
    if (size_ % ranks_per_node != 0) continue;
    const auto patient = GetParam().connect(ranks_per_node, 0.3);
    if (rank_ != size_ - 1) {
      const double value = 1.0;
      const std::string said = failure_of([&] {
        if (ranks_per_node == 2) (void)patient->node().all_gather_values({&value, 1});
        (void)patient->all_gather_values({&value, 1});
      });
      EXPECT_NE(
          said.find("no message has come for 0.3 s; this rank does not answer: " + std::to_string(size_ - 1)),
          std::string::npos)
          << said;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_P(TransportTest, SaysThatAllWaitForAnotherCall) {
  if (size_ == 1) GTEST_SKIP() << "nobody to wait for";
  const auto patient = GetParam().connect(1, 0.3);
  const auto all = test::to_device(std::vector<float>(static_cast<std::size_t>(size_), 0.0F));
  std::vector<Piece> pieces;
  for (int r = 0; r < size_; ++r) pieces.push_back({static_cast<std::size_t>(r) * 4, 4});
  const std::string said = failure_of([&] {
    if (rank_ == 0) {
      (void)patient->sum_over_ranks(1.0);
    } else {
      patient->all_gather(ExecutionSpace{}, Traffic::dense, bytes_of(all), pieces);
    }
  });
  EXPECT_NE(said.find("although all ranks wait"), std::string::npos) << said;
  MPI_Barrier(MPI_COMM_WORLD);
}

INSTANTIATE_TEST_SUITE_P(Wires, TransportTest, testing::ValuesIn(test::wires),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace kadam
