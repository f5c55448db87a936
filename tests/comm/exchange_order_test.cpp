// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/exchange.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/host_views.hpp>
#include <support/late_marks.hpp>
#include <support/wires.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

/// Many more pieces than slots, which ranks send in orders of their own, and without a pause between two
/// exchanges: nothing is lost, mixed up, or waits for ever.
namespace kadam::exchange_order_test {
namespace {

constexpr std::size_t pieces = 60;   ///< for each rank
constexpr std::size_t numbers = 90;  ///< of a piece: staged, a slot holds 64

float number_of(int from, int to, std::size_t piece, std::size_t k, int round) {
  return static_cast<float>(((round * 8 + from) * 8 + to) * 100 + static_cast<int>(piece)) +
         static_cast<float>(k) / 128.0F;
}

class ExchangeOrderTest : public testing::TestWithParam<std::tuple<test::Wire, int>> {
 protected:
  std::shared_ptr<Communicator> communicator_ = std::get<0>(GetParam()).connect();
  const test::LateMarks late_{std::get<1>(GetParam())};
  const int rank_ = communicator_->rank();
  const int size_ = communicator_->size();
  std::mt19937 random_{static_cast<std::uint32_t>(rank_)};

  /// [rank][piece][number]
  [[nodiscard]] std::vector<float> all_of(int round, bool sent) const {
    std::vector<float> values;
    for (int r = 0; r < size_; ++r) {
      for (std::size_t p = 0; p < pieces; ++p) {
        for (std::size_t k = 0; k < numbers; ++k)
          values.push_back(sent ? number_of(rank_, r, p, k, round) : number_of(r, rank_, p, k, round));
      }
    }
    return values;
  }
  /// Of what goes to a rank, or comes from there.
  static Piece place(int rank, std::size_t number) {
    return {(static_cast<std::size_t>(rank) * pieces + number) * numbers * 4, numbers * 4};
  }
  void exchange(const Vector<float>& send, const Vector<float>& receive);
};

void ExchangeOrderTest::exchange(const Vector<float>& send, const Vector<float>& receive) {
  const ExchangeBuffers buffers{bytes_of(send), bytes_of(receive)};
  Exchange exchange(ExecutionSpace{}, *communicator_, Traffic::dense, {&buffers, 1});
  std::vector<std::size_t> order(pieces * static_cast<std::size_t>(size_));
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank_of = [](std::size_t id) { return static_cast<int>(id / pieces); };
  std::size_t missing = 0;
  for (const std::size_t id : order) {
    if (rank_of(id) == rank_) continue;
    exchange.receive(0, rank_of(id), id % pieces, place(rank_of(id), id % pieces), id);
    ++missing;
  }
  std::shuffle(order.begin(), order.end(), random_);
  std::vector<std::size_t> times(order.size(), 0);
  const auto take = [&](const std::vector<std::size_t>& arrived) {
    for (const std::size_t id : arrived) ++times[id];
    missing -= arrived.size();
  };
  for (const std::size_t id : order) {
    if (rank_of(id) != rank_) exchange.send(0, rank_of(id), id % pieces, place(rank_of(id), id % pieces));
    if (id % 7 == 0) take(exchange.arrivals(false));
  }
  while (missing > 0 || exchange.sending() > 0) take(exchange.arrivals(true));
  for (std::size_t id = 0; id < times.size(); ++id) EXPECT_EQ(times[id], rank_of(id) == rank_ ? 0U : 1U);
}

TEST_P(ExchangeOrderTest, PiecesLeaveInAnyOrder) {
  std::size_t sent = 0;
  for (int round = 0; round < 5; ++round) {
    const auto send = test::to_device(all_of(round, true));
    const auto receive = test::to_device(std::vector<float>(all_of(round, false).size(), -1.0F));
    const auto own = Kokkos::make_pair(static_cast<std::size_t>(rank_) * pieces * numbers,
                                       static_cast<std::size_t>(rank_ + 1) * pieces * numbers);
    Kokkos::deep_copy(Kokkos::subview(receive, own), Kokkos::subview(send, own));
    exchange(send, receive);
    // Ranks tell each other something between two exchanges, or do not.
    if (round % 2 == 0) (void)communicator_->sum_over_ranks(1.0);
    Kokkos::fence();
    EXPECT_EQ(test::to_host(receive), all_of(round, false)) << "round " << round;
    sent += pieces * numbers * 4 * static_cast<std::size_t>(size_ - 1);
  }
  EXPECT_EQ(communicator_->bytes_sent().sent(Traffic::dense), sent);
}

/// One rank is told of messages while others tell each other something else.
TEST_P(ExchangeOrderTest, OthersMayTalkMeanwhile) {
  const auto send = test::to_device(all_of(0, true));
  const auto receive = test::to_device(all_of(0, false));
  const ExchangeBuffers buffers{bytes_of(send), bytes_of(receive)};
  Exchange exchange(ExecutionSpace{}, *communicator_, Traffic::dense, {&buffers, 1});
  std::size_t missing = 0;
  for (int r = 0; r < size_; ++r) {
    if (r != rank_) exchange.receive(0, r, 0, place(r, 0), missing++);
  }
  (void)exchange.arrivals(false);
  EXPECT_EQ(communicator_->sum_over_ranks(2.0), 2.0 * size_);
  for (int r = 0; r < size_; ++r) {
    if (r != rank_) exchange.send(0, r, 0, place(r, 0));
  }
  while (missing > 0 || exchange.sending() > 0) missing -= exchange.arrivals(true).size();
  EXPECT_EQ(communicator_->sum_over_ranks(1.0), size_);
}

INSTANTIATE_TEST_SUITE_P(RoutesAndMarks, ExchangeOrderTest,
                         testing::Combine(testing::ValuesIn(test::wires), testing::Values(0, 1, 3)));

}  // namespace
}  // namespace kadam::exchange_order_test
