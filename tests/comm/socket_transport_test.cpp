// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/exchange.hpp>
#include <kadam/comm/socket_communicator.hpp>
#include <support/host_views.hpp>
#include <support/wires.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <memory>
#include <netdb.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

/// What TCP alone has: addresses, strangers, and connections that end.
namespace kadam::socket_transport_test {
namespace {

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int ranks_of_world() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

SocketOptions here(double connect_seconds = 60.0) {
  SocketOptions options;
  options.host = "127.0.0.1";
  options.connect_seconds = connect_seconds;
  return options;
}

template <class Error, class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(SocketTransport, RefusesARankThatIsNone) {
  for (const int rank : {-1, 2}) {
    EXPECT_EQ(refusal<std::invalid_argument>(
                  [&] { (void)make_socket_communicator(rank, 2, test::gather_texts_by_mpi, here()); }),
              "kadam::make_socket_communicator: expected a rank of 0 to 1, got " + std::to_string(rank));
  }
}

TEST(SocketTransport, RefusesAddressesOfAnotherNumberOfRanks) {
  const auto of_one = [](const std::string& own) { return std::vector<std::string>{own}; };
  EXPECT_EQ(refusal<std::invalid_argument>([&] { (void)make_socket_communicator(0, 2, of_one, here()); }),
            "kadam::make_socket_communicator: expected the addresses of 2 ranks, got 1");
}

TEST(SocketTransport, NamesAnAddressThatNobodyKnowsOrListensAt) {
  const auto with_a_wrong_one = [](const std::string& address) {
    return [address](const std::string& own) { return std::vector<std::string>{address, own}; };
  };
  const std::string unknown = refusal<std::runtime_error>(
      [&] { (void)make_socket_communicator(1, 2, with_a_wrong_one("no.such.host.invalid:1"), here()); });
  EXPECT_NE(unknown.find("rank 0 is at no.such.host.invalid:1, and this host does not know that name"),
            std::string::npos)
      << unknown;
  const std::string closed = refusal<std::runtime_error>(
      [&] { (void)make_socket_communicator(1, 2, with_a_wrong_one("127.0.0.1:1"), here()); });
  EXPECT_NE(closed.find("cannot connect to rank 0 at 127.0.0.1:1: Connection refused"), std::string::npos)
      << closed;
}

TEST(SocketTransport, DoesNotWaitForEverForARankThatDoesNotConnect) {
  const auto alone = [](const std::string& own) { return std::vector<std::string>{own, "127.0.0.1:1"}; };
  const std::string said =
      refusal<std::runtime_error>([&] { (void)make_socket_communicator(0, 2, alone, here(0.2)); });
  EXPECT_NE(said.find("rank 1 has not connected to 127.0.0.1:"), std::string::npos) << said;
}

/// Whoever connects and says something else than a rank is shown out.
TEST(SocketTransport, IsNotDisturbedByStrangers) {
  const auto with_a_stranger = [](const std::string& own) {
    const std::vector<std::string> all = test::gather_texts_by_mpi(own);
    const auto port = static_cast<std::uint16_t>(std::stoi(all.front().substr(all.front().rfind(':') + 1)));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int stranger = ::socket(AF_INET, SOCK_STREAM, 0);
    const std::string words(64, 'x');
    EXPECT_EQ(::connect(stranger, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::send(stranger, words.data(), words.size(), MSG_NOSIGNAL), 64);
    ::close(stranger);
    return all;
  };
  const auto communicator =
      make_socket_communicator(rank_of_world(), ranks_of_world(), with_a_stranger, here());
  EXPECT_EQ(communicator->sum_over_ranks(1.0), ranks_of_world());
}

TEST(SocketTransport, AnEndedRankIsAFailureAtOnce) {
  if (ranks_of_world() == 1) GTEST_SKIP() << "nobody to wait for";
  auto communicator = test::Wire{true, Staging::automatic}.connect();
  const int last = communicator->size() - 1;
  if (communicator->rank() == last) {
    communicator.reset();
  } else {
    // Who does not wait for it waits for one that does.
    const std::string said = refusal<PeerFailure>([&] { (void)communicator->sum_over_ranks(1.0); });
    EXPECT_NE(said.find("has ended: that rank has ended, or its host cannot be reached"), std::string::npos)
        << said;
    communicator.reset();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// It had been sent a message that it never took.
TEST(SocketTransport, AnEndedRankIsNoticedByWhoWaitsForItsReceive) {
  if (ranks_of_world() == 1) GTEST_SKIP() << "nobody to send to";
  auto communicator = test::Wire{true, Staging::automatic}.connect(1, 20.0);
  const int last = communicator->size() - 1;
  const std::vector<std::byte> message(100);
  const ExchangeBuffers buffers{message, {}};
  {
    Exchange exchange(*communicator, Traffic::background, std::span(&buffers, 1));
    if (communicator->rank() == 0) exchange.send(0, last, 0, {0, message.size()});
    MPI_Barrier(MPI_COMM_WORLD);
    if (communicator->rank() == 0) {
      const std::string said = refusal<PeerFailure>([&] {
        while (exchange.sending() > 0) (void)exchange.arrivals(true);
      });
      EXPECT_NE(said.find("has ended"), std::string::npos) << said;
    }
  }
  communicator.reset();
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Longer than what hosts keep for a connection: its receiver says that it takes it before all of it has
/// left.
TEST(SocketTransport, ASynchronousSendIsDoneWhenAllOfItHasLeft) {
  if (ranks_of_world() == 1) GTEST_SKIP() << "nobody to send to";
  const auto communicator = test::Wire{true, Staging::automatic}.connect(1, 20.0);
  const int last = communicator->size() - 1;
  const std::size_t bytes = std::size_t{64} << 20U;
  std::vector<std::byte> message;
  if (communicator->rank() == 0) message.assign(bytes, std::byte{7});
  std::vector<std::byte> arrives;
  if (communicator->rank() == last) arrives.resize(bytes);
  const ExchangeBuffers buffers{message, arrives};
  {
    Exchange exchange(*communicator, Traffic::background, std::span(&buffers, 1));
    if (communicator->rank() == 0) {
      exchange.send(0, last, 0, {0, bytes});
      while (exchange.sending() > 0) (void)exchange.arrivals(true);
      std::fill(message.begin(), message.end(), std::byte{0});
    } else if (communicator->rank() == last) {
      exchange.receive(0, 0, 0, {0, bytes}, 0);
      while (exchange.arrivals(true).empty()) {
      }
    }
  }
  EXPECT_EQ(std::count(arrives.begin(), arrives.end(), std::byte{7}), std::ssize(arrives));
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The message has come before its receive, which has no room for it.
TEST(SocketTransport, RefusesAMessageThatIsLongerThanItsReceive) {
  if (ranks_of_world() == 1) GTEST_SKIP() << "nobody to send to";
  const auto communicator = test::Wire{true, Staging::automatic}.connect();
  const int last = communicator->size() - 1;
  std::vector<std::byte> message(200);
  std::vector<std::byte> arrives(200, std::byte{1});
  const ExchangeBuffers buffers{message, arrives};
  {
    Exchange exchange(*communicator, Traffic::background, std::span(&buffers, 1));
    if (communicator->rank() == 0) {
      exchange.send(0, last, 0, {0, 150});
      exchange.send(0, last, 1, {0, 50});
    } else if (communicator->rank() == last) {
      exchange.receive(0, 0, 1, {150, 50}, 1);
      while (exchange.arrivals(true).empty()) {
      }
      const std::string said = refusal<std::runtime_error>([&] { exchange.receive(0, 0, 0, {0, 100}, 0); });
      EXPECT_EQ(said,
                "kadam::SocketConnections: a message of 150 bytes from rank 0 does not fit into its receive "
                "of 100 bytes");
      EXPECT_EQ(std::count(arrives.begin(), arrives.end(), std::byte{1}), 150);
    }
    MPI_Barrier(MPI_COMM_WORLD);  // what has been sent stays until then
  }
}

/// Its end is found out by a send: a receive that was there before must hear of it.
TEST(SocketTransport, AnEndedRankThatASendFindsEndsReceives) {
  if (ranks_of_world() == 1) GTEST_SKIP() << "nobody to send to";
  auto communicator = test::Wire{true, Staging::automatic}.connect();
  const int last = communicator->size() - 1;
  std::vector<std::byte> message(100);
  std::vector<std::byte> arrives(100);
  const ExchangeBuffers buffers{message, arrives};
  {
    Exchange exchange(*communicator, Traffic::background, std::span(&buffers, 1));
    if (communicator->rank() == 0) exchange.receive(0, last, 0, {0, arrives.size()}, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (communicator->rank() != last) MPI_Barrier(MPI_COMM_WORLD);
    if (communicator->rank() == 0) {
      const std::string said = refusal<PeerFailure>([&] {
        for (std::size_t number = 0; number < 3; ++number) {
          exchange.send(0, last, number, {0, message.size()});
          std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until the host has refused it
        }
        for (;;) (void)exchange.arrivals(true);
      });
      EXPECT_NE(said.find("has ended"), std::string::npos) << said;
    }
  }
  const bool ends_first = communicator->rank() == last;
  communicator.reset();
  if (ends_first) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace kadam::socket_transport_test
