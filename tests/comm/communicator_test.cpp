// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <support/host_views.hpp>
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
  explicit Scripted(Staging staging) : Scripted(new test::ScriptedTransport(1, 3), staging) {}

 private:
  Scripted(test::ScriptedTransport* raw, Staging staging)
      : transport(raw), communicator(std::unique_ptr<Transport>(raw), {staging}) {}
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

TEST(Communicator, StagedMessagesDoNotTouchTheCallersMemory) {
  Scripted scripted(Staging::always);
  const auto buffer = test::to_device(std::vector<float>{0, 5, 0});
  scripted.communicator.all_gather(ExecutionSpace{}, Traffic::dense, bytes_of(buffer),
                                   std::vector<Piece>{{0, 4}, {4, 4}, {8, 4}});
  EXPECT_NE(scripted.transport->last_target(), bytes_of(buffer).data());
  EXPECT_TRUE(scripted.communicator.stages_through_host());
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
