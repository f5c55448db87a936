// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/gathers.hpp>
#include <kadam/comm/socket_communicator.hpp>
#include <kadam/comm/socket_connections.hpp>
#include <kadam/text_hash.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <ifaddrs.h>
#include <map>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <numeric>
#include <poll.h>
#include <set>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace kadam {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("kadam::make_socket_communicator: " + what + ": " + std::strerror(errno));
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

/// Where others reach this host: its only address beside the loopback, where there is one; else its name.
std::string own_host() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return host_name();
  std::set<std::string> addresses;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool is_up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_up || one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ifa_addr, sizeof(sockaddr_in), text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0)
      addresses.insert(text.data());
  }
  ::freeifaddrs(all);
  return addresses.size() == 1 ? *addresses.begin() : host_name();
}

/// What a rank says first on a connection.
struct Hello {
  std::uint64_t magic = 0x6b6164616d2d3031U;
  std::uint64_t group = 0;  ///< of ranks, the same in each
  std::uint64_t rank = 0;   ///< in all
};

/// Waits for the whole of it.
bool transfer(int descriptor, Hello& hello, short event, Clock::time_point deadline) {
  auto* const bytes = reinterpret_cast<char*>(&hello);
  for (std::size_t done = 0; done < sizeof(Hello);) {
    pollfd one{descriptor, event, 0};
    if (::poll(&one, 1, milliseconds_until(deadline)) <= 0) return false;
    const ssize_t count =
        event == POLLIN ? ::recv(descriptor, bytes + done, sizeof(Hello) - done, MSG_DONTWAIT)
                        : ::send(descriptor, bytes + done, sizeof(Hello) - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      return false;
    }
  }
  return true;
}

/// Where all ranks listen, and how groups of them connect.
class Meeting {
 public:
  Meeting(int rank, const SocketOptions& options) : rank_(rank), patience_(options.connect_seconds) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_ANY);
    auto* const name = reinterpret_cast<sockaddr*>(&any);
    socklen_t length = sizeof(any);
    if (listener_ < 0 || ::bind(listener_, name, length) != 0 || ::listen(listener_, SOMAXCONN) != 0 ||
        ::getsockname(listener_, name, &length) != 0)
      fail("cannot listen for other ranks");
    own_ = (options.host.empty() ? own_host() : options.host) + ":" + std::to_string(ntohs(any.sin_port));
  }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting() {
    for (const auto& [from, descriptor] : waiting_) ::close(descriptor);
    if (listener_ >= 0) ::close(listener_);
  }

  [[nodiscard]] const std::string& own_address() const { return own_; }
  [[nodiscard]] Seconds patience() const { return patience_; }
  void meet(std::vector<std::string> addresses) { addresses_ = std::move(addresses); }

  /// Connections between these of all ranks, in their order. Collective over them.
  [[nodiscard]] std::shared_ptr<SocketConnections> connect(std::uint64_t group,
                                                           const std::vector<int>& members) {
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience_);
    std::vector<int> descriptors(members.size(), -1);
    int own_place = 0;
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (members[k] == rank_) own_place = static_cast<int>(k);
      if (members[k] < rank_) descriptors[k] = call(group, members[k], deadline);
    }
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (members[k] > rank_) descriptors[k] = wait_for(group, members[k], deadline);
    }
    return std::make_shared<SocketConnections>(own_place, std::move(descriptors));
  }

 private:
  using From = std::pair<std::uint64_t, std::uint64_t>;  // group, rank

  [[nodiscard]] int call(std::uint64_t group, int rank, Clock::time_point deadline) const {
    const std::string& address = addresses_[static_cast<std::size_t>(rank)];
    const std::size_t colon = address.rfind(':');
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string host = address.substr(0, colon);
    if (::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found) != 0)
      throw std::runtime_error("kadam::make_socket_communicator: rank " + std::to_string(rank) + " is at " +
                               address +
                               ", and nobody here knows that host: give SocketOptions::host a "
                               "name or an address that other hosts know");
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int status = ::connect(descriptor, found->ai_addr, found->ai_addrlen);
    ::freeaddrinfo(found);
    Hello hello{.group = group, .rank = static_cast<std::uint64_t>(rank_)};
    pollfd one{descriptor, POLLOUT, 0};
    int error = 0;
    socklen_t length = sizeof(error);
    const bool is_connected =
        (status == 0 || errno == EINPROGRESS) && ::poll(&one, 1, milliseconds_until(deadline)) > 0 &&
        ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
    if (!is_connected || !transfer(descriptor, hello, POLLOUT, deadline)) {
      if (error != 0) errno = error;
      ::close(descriptor);
      fail("no connection to rank " + std::to_string(rank) + " at " + address);
    }
    return ready(descriptor);
  }

  /// Others may come before it, also of later groups.
  [[nodiscard]] int wait_for(std::uint64_t group, int rank, Clock::time_point deadline) {
    const From wanted{group, static_cast<std::uint64_t>(rank)};
    while (!waiting_.contains(wanted)) {
      pollfd one{listener_, POLLIN, 0};
      if (::poll(&one, 1, milliseconds_until(deadline)) <= 0) {
        throw std::runtime_error("kadam::make_socket_communicator: rank " + std::to_string(rank) +
                                 " has not connected to " + own_ +
                                 " in time: has it been started, and can its host reach this address?");
      }
      const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      Hello hello;
      if (descriptor < 0) continue;
      // A rank says it at once.
      const auto soon = std::min(deadline, Clock::now() + std::chrono::seconds(5));
      if (!transfer(descriptor, hello, POLLIN, soon) || hello.magic != Hello{}.magic) {
        ::close(descriptor);  // somebody else
        continue;
      }
      waiting_[{hello.group, hello.rank}] = ready(descriptor);
    }
    const int descriptor = waiting_.at(wanted);
    waiting_.erase(wanted);
    return descriptor;
  }

  /// Messages are whole: nothing is to be waited for to go with them.
  static int ready(int descriptor) {
    const int on = 1;
    (void)::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return descriptor;
  }

  int rank_;
  Seconds patience_;
  int listener_ = -1;
  std::string own_;
  std::vector<std::string> addresses_;
  std::map<From, int> waiting_;
};

/// Some of all ranks, by connections of their own.
class SocketTransport final : public Transport {
 public:
  /// members: of all ranks, in the order of theirs here. group: the same on all of them, and no other's.
  SocketTransport(std::shared_ptr<Meeting> meeting, std::uint64_t group, std::vector<int> members)
      : meeting_(std::move(meeting)),
        group_(group),
        members_(std::move(members)),
        connections_(meeting_->connect(group, members_)) {}

  [[nodiscard]] int rank() const override { return connections_->rank(); }
  [[nodiscard]] int size() const override { return connections_->size(); }
  [[nodiscard]] bool accepts_device_memory() const override { return false; }
  [[nodiscard]] bool allows_threads() const override { return true; }
  [[nodiscard]] std::string description() const override {
    return "TCP, " + std::to_string(size()) + (size() == 1 ? " rank" : " ranks");
  }

  [[nodiscard]] std::unique_ptr<Messages> messages() override {
    return std::make_unique<SocketMessages>(connections_, SocketConnections::Lane::exchange);
  }

  bool all_gather(std::byte* all, std::size_t bytes, Seconds patience) override {
    SocketMessages messages(connections_, SocketConnections::Lane::gather);
    return gather_by_messages(messages, rank(), size(), all, bytes, patience, gathered_);
  }

  std::vector<int> missing_ranks(Seconds patience) override {
    SocketMessages messages(connections_, SocketConnections::Lane::gather);
    return call_roll(messages, rank(), size(), patience);
  }

  /// A ring: each rank adds up a part of the values, and then gives it to all.
  void all_reduce_sum(float* values, std::size_t count) override {
    const auto ranks = static_cast<std::size_t>(size());
    const auto rank = static_cast<std::size_t>(this->rank());
    const auto begin_of = [&](std::size_t part) { return count * part / ranks; };
    std::vector<float> arrived(count / ranks + 1);
    SocketMessages messages(connections_, SocketConnections::Lane::gather);
    Messages::Done done;
    const auto next = static_cast<int>((rank + 1) % ranks);
    const auto before = static_cast<int>((rank + ranks - 1) % ranks);
    for (std::size_t round = 0; round + 1 < 2 * ranks - 1; ++round) {
      const bool adds = round + 1 < ranks;
      const std::size_t sent = (rank + 2 * ranks - round) % ranks;
      const std::size_t got = (sent + ranks - 1) % ranks;
      float* const own = values + begin_of(got);
      const std::size_t length = begin_of(got + 1) - begin_of(got);
      messages.receive(before, 0, reinterpret_cast<std::byte*>(adds ? arrived.data() : own),
                       length * sizeof(float), 0);
      messages.send(next, 0, reinterpret_cast<const std::byte*>(values + begin_of(sent)),
                    (begin_of(sent + 1) - begin_of(sent)) * sizeof(float), SendMode::standard, 0);
      done.clear();
      while (done.arrived.empty() || messages.sending() > 0) messages.progress(for_ever, done);
      for (std::size_t i = 0; adds && i < length; ++i) own[i] += arrived[i];
    }
  }

  [[nodiscard]] std::unique_ptr<Transport> duplicate() override {
    return std::make_unique<SocketTransport>(meeting_, next_group(0), members_);
  }

  [[nodiscard]] std::unique_ptr<Transport> split(int colour) override {
    std::vector<int> colours(members_.size());
    colours[static_cast<std::size_t>(rank())] = colour;
    gather(colours);
    std::vector<int> members;
    for (std::size_t k = 0; k < members_.size(); ++k) {
      if (colours[k] == colour) members.push_back(members_[k]);
    }
    return std::make_unique<SocketTransport>(
        meeting_, next_group(1 + static_cast<std::uint64_t>(members.front())), std::move(members));
  }

  [[nodiscard]] std::unique_ptr<Transport> split_by_node() override {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string host;
    std::getline(file, host);
    std::vector<std::uint64_t> hosts(members_.size());
    const std::uint64_t own = hash_of(host + host_name());
    hosts[static_cast<std::size_t>(rank())] = own;
    gather(hosts);
    return split(static_cast<int>(std::find(hosts.begin(), hosts.end(), own) - hosts.begin()));
  }

 private:
  /// The same of every rank.
  template <class Number>
  void gather(std::vector<Number>& numbers) {
    auto* const bytes = reinterpret_cast<std::byte*>(numbers.data());
    if (all_gather(bytes, sizeof(Number), meeting_->patience())) return;
    throw PeerFailure("kadam::Communicator: other ranks have not come to a collective call within " +
                      std::to_string(meeting_->patience().count()) + " s");
  }

  /// A name that the same ranks give in the same order, and that no other group has.
  [[nodiscard]] std::uint64_t next_group(std::uint64_t part) {
    return hash_of(std::to_string(group_) + "/" + std::to_string(++groups_made_) + "/" +
                   std::to_string(part));
  }

  std::shared_ptr<Meeting> meeting_;
  std::uint64_t group_;
  std::vector<int> members_;
  std::shared_ptr<SocketConnections> connections_;
  std::uint64_t groups_made_ = 0;
  std::vector<std::byte> gathered_;
};

}  // namespace

std::shared_ptr<Communicator> make_socket_communicator(int rank, int size, const GatherTexts& gather,
                                                       const SocketOptions& options) {
  if (rank < 0 || rank >= size) {
    throw std::invalid_argument("kadam::make_socket_communicator: expected a rank of 0 to " +
                                std::to_string(size - 1) + ", got " + std::to_string(rank));
  }
  const auto meeting = std::make_shared<Meeting>(rank, options);
  std::vector<std::string> addresses = gather(meeting->own_address());
  if (addresses.size() != static_cast<std::size_t>(size)) {
    throw std::invalid_argument("kadam::make_socket_communicator: expected the addresses of " +
                                std::to_string(size) + " ranks, got " + std::to_string(addresses.size()));
  }
  // Who does not know all addresses is not one of these ranks.
  const std::uint64_t group = hash_of(std::accumulate(addresses.begin(), addresses.end(), std::string()));
  meeting->meet(std::move(addresses));
  std::vector<int> members(static_cast<std::size_t>(size));
  for (int k = 0; k < size; ++k) members[static_cast<std::size_t>(k)] = k;
  auto made = std::make_shared<Communicator>(
      std::make_unique<SocketTransport>(meeting, group, std::move(members)), options.exchange);
  made->form_levels(options.ranks_per_node);
  return made;
}

}  // namespace kadam
