// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <kadam/comm/exchange.hpp>
#include <support/host_views.hpp>
#include <support/late_marks.hpp>
#include <support/scripted_transport.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace kadam {
namespace {

std::vector<std::byte> bytes_of_values(const std::vector<float>& values) {
  const auto* begin = reinterpret_cast<const std::byte*>(values.data());
  return {begin, begin + values.size() * sizeof(float)};
}

struct Scripted {
  test::ScriptedTransport* transport;
  Communicator communicator;
  explicit Scripted(Staging staging, std::size_t piece_bytes = 0)
      : Scripted(new test::ScriptedTransport(1, 3), {staging, piece_bytes}) {}

 private:
  Scripted(test::ScriptedTransport* raw, const ExchangeOptions& options)
      : transport(raw), communicator(std::unique_ptr<Transport>(raw), options) {}
};

class CommunicatorStaging : public testing::TestWithParam<Staging> {};

TEST_P(CommunicatorStaging, AllToAllMovesPiecesAndCountsWhatLeaves) {
  Scripted scripted(GetParam());
  const auto send = test::to_device(std::vector<float>{1, 2, 3, 4});
  const auto receive = test::to_device(std::vector<float>{0, 0, 0});
  const std::vector<Piece> out = {{0, 4}, {4, 4}, {8, 8}};
  const std::vector<Piece> in = {{0, 4}, {4, 4}, {8, 4}};
  scripted.transport->will_receive(bytes_of_values({7}));  // from rank 0, the neighbour, first
  scripted.transport->will_receive(bytes_of_values({9}));
  scripted.communicator.all_to_all(ExecutionSpace{}, Traffic::compressed, bytes_of(send), out,
                                   bytes_of(receive), in);
  Kokkos::fence();
  using Sent = test::ScriptedTransport::Sent;
  EXPECT_EQ(scripted.transport->sent(),
            (std::vector<Sent>{{2, bytes_of_values({3, 4})}, {0, bytes_of_values({1})}}));
  EXPECT_EQ(test::to_host(receive), (std::vector<float>{7, 2, 9}));
  EXPECT_EQ(scripted.communicator.bytes_sent().sent(Traffic::compressed), 12U);
  EXPECT_EQ(scripted.communicator.bytes_sent().sent(Traffic::dense), 0U);
}

TEST_P(CommunicatorStaging, AllGatherSendsTheOwnPieceToAllOthers) {
  Scripted scripted(GetParam());
  const auto buffer = test::to_device(std::vector<float>{0, 5, 0});
  const std::vector<Piece> pieces = {{0, 4}, {4, 4}, {8, 4}};
  scripted.transport->will_receive(bytes_of_values({4}));
  scripted.transport->will_receive(bytes_of_values({6}));
  scripted.communicator.all_gather(ExecutionSpace{}, Traffic::dense, bytes_of(buffer), pieces);
  Kokkos::fence();
  using Sent = test::ScriptedTransport::Sent;
  EXPECT_EQ(scripted.transport->sent(),
            (std::vector<Sent>{{2, bytes_of_values({5})}, {0, bytes_of_values({5})}}));
  EXPECT_EQ(test::to_host(buffer), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(scripted.communicator.bytes_sent().sent(Traffic::dense), 8U);
}

INSTANTIATE_TEST_SUITE_P(DirectAndStaged, CommunicatorStaging,
                         testing::Values(Staging::automatic, Staging::always));

/// What MPI would ask for before it sends it goes in parts; what is long beside that goes as one.
TEST(Communicator, PiecesOfAFewPartsTravelInParts) {
  using Sent = test::ScriptedTransport::Sent;
  Scripted scripted(Staging::automatic, 8);
  const auto buffer = test::to_device(std::vector<float>{1, 2, 3, 0, 0});
  const std::vector<Piece> pieces = {{12, 4}, {0, 12}, {16, 4}};
  scripted.communicator.all_gather(ExecutionSpace{}, Traffic::dense, bytes_of(buffer), pieces);
  const auto first = bytes_of_values({1, 2});
  const auto second = bytes_of_values({3});
  EXPECT_EQ(scripted.transport->sent(),
            (std::vector<Sent>{{2, first}, {0, first}, {2, second}, {0, second}}));

  Scripted to_one(Staging::automatic, 8);
  const auto in = test::to_device(std::vector<float>(35, 0.0F));
  const auto out = test::to_device(std::vector<float>(35, 1.0F));
  const std::vector<Piece> send = {{0, 4}, {4, 4}, {8, 128}};
  const std::vector<Piece> receive = {{0, 132}, {132, 4}, {136, 4}};
  to_one.communicator.all_to_all(ExecutionSpace{}, Traffic::dense, bytes_of(out), send, bytes_of(in),
                                 receive);
  EXPECT_EQ(to_one.transport->sent().size(), 17U) << "16 parts for rank 2, and one for rank 0";
  EXPECT_EQ(to_one.transport->receives(), 2U) << "132 bytes are too many for parts of 8";
}

TEST(Communicator, StagedMessagesDoNotTouchTheCallersMemory) {
  Scripted scripted(Staging::always);
  const auto buffer = test::to_device(std::vector<float>{0, 5, 0});
  scripted.communicator.all_gather(ExecutionSpace{}, Traffic::dense, bytes_of(buffer),
                                   std::vector<Piece>{{0, 4}, {4, 4}, {8, 4}});
  EXPECT_NE(scripted.transport->last_target(), bytes_of(buffer).data());
  EXPECT_TRUE(scripted.communicator.stages_through_host());
}

/// Pieces of 4 bytes.
Piece piece(std::size_t number) {
  return {4 * number, 4};
}

/// Of one rank of three, which sends and receives in one vector.
class LateKernels : public testing::Test {
 protected:
  static std::size_t messages_of(const Scripted& scripted) { return scripted.transport->sent().size(); }

  Scripted scripted_{Staging::automatic};
  const Vector<float> values_ = test::to_device(std::vector<float>{1, 2, 3});
  const ExchangeBuffers buffers_{bytes_of(values_), bytes_of(values_)};
};

TEST_F(LateKernels, SendsLeaveWhenTheyAreReachedInTheOrderOfTheirCalls) {
  if (!kernels_run_on_host) GTEST_SKIP() << "marks of a device are not pretended";
  Exchange exchange(ExecutionSpace{}, scripted_.communicator, Traffic::dense, {&buffers_, 1});
  {
    const test::LateMarks late(3);
    exchange.send(0, 2, 0, piece(0));
  }
  exchange.send(0, 0, 1, piece(1));  // its mark is reached before that of the first one
  EXPECT_EQ(messages_of(scripted_), 0U);
  EXPECT_EQ(exchange.sending(), 2U);
  for (int turn = 0; turn < 4 && exchange.sending() > 0; ++turn) (void)exchange.arrivals(false);
  using Sent = test::ScriptedTransport::Sent;
  EXPECT_EQ(scripted_.transport->sent(),
            (std::vector<Sent>{{2, bytes_of_values({1})}, {0, bytes_of_values({2})}}));
  EXPECT_EQ(exchange.sending(), 0U);
}

TEST_F(LateKernels, ReceivesWaitForWhatWasEnqueuedBefore) {
  if (!kernels_run_on_host) GTEST_SKIP() << "marks of a device are not pretended";
  scripted_.transport->will_receive(bytes_of_values({7}));
  const test::LateMarks late(3);
  Exchange exchange(ExecutionSpace{}, scripted_.communicator, Traffic::dense, {&buffers_, 1});
  exchange.receive(0, 0, 0, piece(2), 0);
  EXPECT_EQ(scripted_.transport->last_target(), nullptr);
  EXPECT_EQ(exchange.arrivals(true), std::vector<std::size_t>{0}) << "who waits asks on";
  EXPECT_EQ(test::to_host(values_), (std::vector<float>{1, 2, 7}));
}

/// A piece of 40 slots between two ranks, which have 4 each way.
class StagedInSlots : public testing::Test {
 protected:
  static constexpr std::size_t slots = 4;
  test::ScriptedTransport* transport_ = new test::ScriptedTransport(0, 2);
  Communicator communicator_{std::unique_ptr<Transport>(transport_), {Staging::always, 4}};
  const Vector<float> values_{"values", 40};
  const ExchangeBuffers buffers_{bytes_of(values_), bytes_of(values_)};
};

TEST_F(StagedInSlots, PartsWaitForSlots) {
  transport_->sends_slowly();
  Exchange exchange(ExecutionSpace{}, communicator_, Traffic::dense, {&buffers_, 1});
  exchange.send(0, 1, 0, {0, 160});
  EXPECT_EQ(transport_->sent().size(), slots);
  for (std::size_t done = 1; exchange.sending() > 0; ++done) {
    (void)exchange.arrivals(false);
    EXPECT_EQ(transport_->sent().size(), std::min<std::size_t>(40, slots + done));
  }
  EXPECT_EQ(communicator_.bytes_sent().sent(Traffic::dense), 160U);
}

TEST_F(StagedInSlots, ASlotIsFreeWhenItsLastSendIsDone) {
  auto* const transport = new test::ScriptedTransport(1, 3);
  Communicator communicator{std::unique_ptr<Transport>(transport), {Staging::always, 4}};
  transport->sends_slowly();
  Exchange exchange(ExecutionSpace{}, communicator, Traffic::dense, {&buffers_, 1});
  exchange.send_to_others(0, 0, {0, 160});
  for (std::size_t done = 1; done < 20; ++done) {
    (void)exchange.arrivals(false);
    EXPECT_EQ(transport->sent().size(), 2 * (2 * slots + done / 2));
  }
}

TEST_F(StagedInSlots, ReceivesWaitForTheCopyOutOfTheirSlot) {
  if (!kernels_run_on_host) GTEST_SKIP() << "marks of a device are not pretended";
  const test::LateMarks late(2);
  Exchange exchange(ExecutionSpace{}, communicator_, Traffic::dense, {&buffers_, 1});
  exchange.receive(0, 1, 0, {0, 160}, 0);
  EXPECT_EQ(transport_->receives(), slots);
  EXPECT_TRUE(exchange.arrivals(false).empty());
  EXPECT_EQ(transport_->receives(), slots) << "which the device still reads";
  std::size_t turns = 0;
  while (exchange.arrivals(true).empty()) ++turns;
  EXPECT_GE(turns, 40 / slots - 2);
  EXPECT_EQ(transport_->receives(), 40U) << "and none that nobody expects";
}

TEST(Communicator, PiecesAreLongerWhereKernelsRunOnADevice) {
  EXPECT_EQ(automatic_piece_bytes(true), 61440U);
  EXPECT_EQ(automatic_piece_bytes(false), 4194304U);
  const auto piece_bytes = [](std::size_t wanted, bool on_host) {
    return Communicator(std::make_unique<test::ScriptedTransport>(0, 2), {Staging::automatic, wanted})
        .piece_bytes(on_host);
  };
  EXPECT_EQ(piece_bytes(0, true), 61440U);
  EXPECT_EQ(piece_bytes(0, false), 4194304U);
  for (const bool on_host : {false, true}) EXPECT_EQ(piece_bytes(400, on_host), 400U);
}

/// The worked numbers of StagingPool.
TEST(Communicator, StagesThroughMemoryThatDoesNotGrowWithVectors) {
  constexpr std::size_t mib = std::size_t{1} << 20U;
  const auto bytes = [](int ranks, std::size_t piece_bytes) {
    return Communicator(std::make_unique<test::ScriptedTransport>(0, ranks), {Staging::always, piece_bytes})
        .staging_bytes();
  };
  EXPECT_EQ(bytes(2, 4 * mib), 32 * mib);
  EXPECT_EQ(bytes(9, 4 * mib), 128 * mib);
  EXPECT_EQ(bytes(65, 4 * mib), 128 * mib);
  EXPECT_EQ(bytes(3, 400), 2U * 8 * 400);
  EXPECT_EQ(bytes(1, 400), 0U);
  EXPECT_EQ(Scripted(Staging::automatic).communicator.staging_bytes(), host_reaches_vectors ? 0U : 64 * mib);
}

TEST(Communicator, DisagreementNamesWhatAndWho) {
  Scripted scripted(Staging::automatic);
  std::vector<std::byte> all(3 * sizeof(std::uint64_t));
  const std::uint64_t values[] = {10, 10, 11};
  std::memcpy(all.data(), values, sizeof(values));
  scripted.transport->will_receive(all);
  const std::vector<std::string> names = {"d, the number of parameters"};
  const std::vector<std::uint64_t> own = {10};
  try {
    scripted.communicator.require_equal(names, own);
    FAIL() << "accepted ranks that disagree";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what())
                  .find("rank 0 and rank 2 disagree on d, the number of parameters (10 and 11)"),
              std::string::npos)
        << error.what();
  }
}

TEST(Communicator, OneRankSendsNothing) {
  const auto self = Communicator::self();
  EXPECT_EQ(self->size(), 1);
  const double value = 3.0;
  EXPECT_EQ(self->all_gather_values({&value, 1}), std::vector<double>{3.0});
  EXPECT_EQ(self->bytes_sent().total(), 0U);
}

}  // namespace
}  // namespace kadam
