// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/gathers.hpp>
#include <kadam/comm/socket_meeting.hpp>
#include <kadam/text_hash.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <set>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

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

/// Where others reach this host: its only address beside the loopback, where there is one; else its name.
std::string own_host() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return SocketMeeting::host_name();
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
  return addresses.size() == 1 ? *addresses.begin() : SocketMeeting::host_name();
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

/// A rank says at once who it is.
constexpr std::chrono::seconds longest_silence{5};

Clock::time_point soon(Clock::time_point deadline) {
  return std::min(deadline, Clock::now() + longest_silence);
}

bool is_ready(int descriptor, short event) {
  pollfd one{descriptor, event, 0};
  return ::poll(&one, 1, 0) > 0;
}

/// Of a connection that was begun: 0, or what has become of it.
int error_of(int descriptor) {
  int error = 0;
  socklen_t length = sizeof(error);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

/// Begins to connect to an address "HOST:PORT"; nothing where nobody knows the host. errno: as of connect().
std::optional<int> begin_connection(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string host = address.substr(0, colon);
  if (::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found) != 0) return std::nullopt;
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int status = ::connect(descriptor, found->ai_addr, found->ai_addrlen);
  const int error = status == 0 ? 0 : errno;
  ::freeaddrinfo(found);
  errno = error;
  return descriptor;
}

/// Messages are whole: nothing is to be waited for to go with them.
int ready(int descriptor) {
  const int on = 1;
  (void)::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return descriptor;
}

std::string counted(std::size_t ranks) {
  return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

}  // namespace

std::string SocketMeeting::host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

SocketMeeting::SocketMeeting(int rank, const SocketOptions& options)
    : rank_(rank), patience_(options.connect_seconds) {
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

SocketMeeting::~SocketMeeting() {
  for (const Guest& guest : guests_) ::close(guest.descriptor);
  for (const auto& [from, descriptor] : waiting_) ::close(descriptor);
  if (listener_ >= 0) ::close(listener_);
}

std::shared_ptr<SocketConnections> SocketMeeting::connect(std::uint64_t group,
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
  return keep(own_place, descriptors);
}

std::shared_ptr<SocketConnections> SocketMeeting::keep(int own_place, const std::vector<int>& descriptors) {
  auto connections = std::make_shared<SocketConnections>(own_place, descriptors);
  std::erase_if(made_, [](const auto& one) { return one.expired(); });
  made_.push_back(connections);
  return connections;
}

void SocketMeeting::shut_down() {
  for (const auto& one : made_) {
    if (const auto connections = one.lock()) connections->shut_down();
  }
}

int SocketMeeting::call(std::uint64_t group, int rank, Clock::time_point deadline) const {
  const std::string& address = addresses_[static_cast<std::size_t>(rank)];
  const std::optional<int> begun = begin_connection(address);
  if (!begun)
    throw std::runtime_error("kadam::make_socket_communicator: rank " + std::to_string(rank) + " is at " +
                             address +
                             ", and nobody here knows that host: give SocketOptions::host a "
                             "name or an address that other hosts know");
  const int descriptor = *begun;
  Hello hello{.group = group, .rank = static_cast<std::uint64_t>(rank_)};
  pollfd one{descriptor, POLLOUT, 0};
  int error = errno == EINPROGRESS ? 0 : errno;
  bool is_connected = error == 0 && ::poll(&one, 1, milliseconds_until(deadline)) > 0;
  if (is_connected) error = error_of(descriptor);
  is_connected = is_connected && error == 0;
  if (!is_connected || !transfer(descriptor, hello, POLLOUT, deadline)) {
    if (error != 0) errno = error;
    ::close(descriptor);
    fail("no connection to rank " + std::to_string(rank) + " at " + address);
  }
  return ready(descriptor);
}

void SocketMeeting::receive_guests(std::chrono::milliseconds patience) {
  std::vector<pollfd> descriptors = {{listener_, POLLIN, 0}};
  for (const Guest& guest : guests_) descriptors.push_back({guest.descriptor, POLLIN, 0});
  if (::poll(descriptors.data(), static_cast<nfds_t>(descriptors.size()),
             static_cast<int>(patience.count())) <= 0)
    return;
  std::vector<Guest> silent;
  for (std::size_t k = 0; k < guests_.size(); ++k) {
    const int descriptor = guests_[k].descriptor;
    const bool speaks = descriptors[k + 1].revents != 0;
    if (!speaks && Clock::now() - guests_[k].since < longest_silence) {
      silent.push_back(guests_[k]);
      continue;
    }
    Hello hello;
    const bool is_rank = speaks && transfer(descriptor, hello, POLLIN, Clock::now() + longest_silence) &&
                         hello.magic == Hello{}.magic;
    if (!is_rank) {
      ::close(descriptor);  // somebody else
      continue;
    }
    const auto [place, is_new] = waiting_.try_emplace({hello.group, hello.rank}, ready(descriptor));
    if (!is_new) ::close(std::exchange(place->second, descriptor));
  }
  guests_ = std::move(silent);
  if (descriptors.front().revents == 0) return;
  const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor >= 0) guests_.push_back({descriptor, Clock::now()});
}

/// Others may come before it, also of later groups.
int SocketMeeting::wait_for(std::uint64_t group, int rank, Clock::time_point deadline) {
  const From wanted{group, static_cast<std::uint64_t>(rank)};
  while (!waiting_.contains(wanted)) {
    if (Clock::now() >= deadline) {
      throw std::runtime_error("kadam::make_socket_communicator: rank " + std::to_string(rank) +
                               " has not connected to " + own_ +
                               " in time: has it been started, and can its host reach this address?");
    }
    receive_guests(std::chrono::milliseconds(milliseconds_until(deadline)));
  }
  const int descriptor = waiting_.at(wanted);
  waiting_.erase(wanted);
  return descriptor;
}

/// Asks who of some ranks is still there. A rank calls those before it, which answer; those after it call.
class SocketMeeting::RollCall {
 public:
  RollCall(SocketMeeting& at, std::uint64_t group, const std::vector<int>& members)
      : at_(at), group_(group), members_(members), seats_(members.size()) {
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (members[k] == at.rank_) seats_[k].presence = Presence::present;
    }
  }
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;
  ~RollCall() {
    for (const Seat& seat : seats_) {
      if (seat.descriptor >= 0) ::close(seat.descriptor);
    }
  }

  /// Returns when all are there or have ended, or when nobody waits any more. False: others have begun the
  /// next roll call.
  bool run(std::uint64_t next_group, Clock::time_point deadline) {
    while (Clock::now() < deadline) {
      // While answers are on their way, guests come.
      at_.receive_guests(std::chrono::milliseconds(2));
      const bool is_late = std::any_of(at_.waiting_.begin(), at_.waiting_.end(),
                                       [&](const auto& one) { return one.first.first == next_group; });
      if (is_late) return false;
      bool all_are_known = true;
      for (std::size_t k = 0; k < seats_.size(); ++k) {
        if (seats_[k].presence == Presence::silent) look_for(k, deadline);
        all_are_known = all_are_known && seats_[k].presence != Presence::silent;
      }
      if (all_are_known) break;
    }
    return true;
  }

  [[nodiscard]] std::vector<Presence> presences() const {
    std::vector<Presence> all;
    for (const Seat& seat : seats_) all.push_back(seat.presence);
    return all;
  }
  /// Connections to those who are present, in their order; -1 for this rank.
  [[nodiscard]] std::vector<int> take_descriptors() {
    std::vector<int> descriptors;
    for (Seat& seat : seats_) {
      if (seat.presence == Presence::present) descriptors.push_back(std::exchange(seat.descriptor, -1));
    }
    return descriptors;
  }

 private:
  struct Seat {
    Presence presence = Presence::silent;
    int descriptor = -1;
    bool is_asked = false;  ///< the answer is what is missing
    Clock::time_point next_try = Clock::now();
  };

  void look_for(std::size_t k, Clock::time_point deadline) {
    Seat& seat = seats_[k];
    const bool calls_us = members_[k] > at_.rank_;
    const auto caller = at_.waiting_.find({group_, static_cast<std::uint64_t>(members_[k])});
    if (calls_us && caller != at_.waiting_.end()) {
      forget(seat);
      seat.descriptor = caller->second;
      at_.waiting_.erase(caller);
      Hello here = hello();
      if (transfer(seat.descriptor, here, POLLOUT, soon(deadline))) seat.presence = Presence::present;
      return;
    }
    if (seat.descriptor < 0) {
      if (Clock::now() >= seat.next_try) begin(seat, members_[k]);
    } else if (!seat.is_asked) {
      if (is_ready(seat.descriptor, POLLOUT)) ask(seat, calls_us, deadline);
    } else if (is_ready(seat.descriptor, POLLIN)) {
      Hello answer;
      const bool is_here =
          transfer(seat.descriptor, answer, POLLIN, soon(deadline)) && answer.group == group_;
      if (is_here) {
        seat.presence = Presence::present;
      } else {
        forget(seat);
      }
    }
  }

  void begin(Seat& seat, int rank) {
    const std::optional<int> begun = begin_connection(at_.addresses_[static_cast<std::size_t>(rank)]);
    if (!begun) return;
    seat.descriptor = *begun;
    if (errno == ECONNREFUSED) has_ended(seat);
  }

  /// A connection is made. Of who calls us it tells that the process is there; it has to call nevertheless.
  void ask(Seat& seat, bool calls_us, Clock::time_point deadline) {
    const int error = error_of(seat.descriptor);
    if (error == ECONNREFUSED) {
      has_ended(seat);
      return;
    }
    Hello here = hello();
    seat.is_asked =
        error == 0 && !calls_us && transfer(ready(seat.descriptor), here, POLLOUT, soon(deadline));
    if (!seat.is_asked) forget(seat);
  }

  static void has_ended(Seat& seat) {
    forget(seat);
    seat.presence = Presence::ended;
  }
  static void forget(Seat& seat) {
    if (seat.descriptor >= 0) ::close(seat.descriptor);
    seat = Seat{};
    seat.next_try = Clock::now() + std::chrono::milliseconds(100);
  }
  [[nodiscard]] Hello hello() const {
    return {.group = group_, .rank = static_cast<std::uint64_t>(at_.rank_)};
  }

  SocketMeeting& at_;
  std::uint64_t group_;
  const std::vector<int>& members_;
  std::vector<Seat> seats_;
};

bool SocketMeeting::agree(const std::shared_ptr<SocketConnections>& connections,
                          std::vector<Presence>& presences) const {
  const auto ranks = static_cast<std::size_t>(connections->size());
  const std::size_t count = presences.size();
  std::vector<Presence> all(ranks * count);
  const auto own = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(connections->rank()) * count);
  std::copy(presences.begin(), presences.end(), all.begin() + own);
  try {
    SocketMessages messages(connections, SocketConnections::Lane::gather);
    std::vector<std::byte> memory;
    if (!gather_by_messages(messages, connections->rank(), connections->size(),
                            reinterpret_cast<std::byte*>(all.data()), count * sizeof(Presence), patience_,
                            memory))
      return false;
  } catch (const PeerFailure&) {
    return false;
  }
  for (std::size_t k = 0; k < all.size(); ++k) {
    Presence& here = presences[k % count];
    if ((all[k] == Presence::present) != (here == Presence::present)) return false;
    here = std::max(here, all[k]);
  }
  return true;
}

/// Throws unless those who are present go on without those who are silent.
void SocketMeeting::require_larger_part(const std::vector<Presence>& presences) {
  const auto present = std::count(presences.begin(), presences.end(), Presence::present);
  const auto silent = std::count(presences.begin(), presences.end(), Presence::silent);
  const auto first =
      std::find_if(presences.begin(), presences.end(), [](Presence one) { return one != Presence::ended; });
  if (present > silent || (present == silent && *first == Presence::present)) return;
  throw PeerFailure("kadam: nothing has come from " + counted(static_cast<std::size_t>(silent)) +
                    ", which may go on without this one and " +
                    counted(static_cast<std::size_t>(present - 1)) +
                    " beside it: the larger part goes on, of two halves that with the lowest rank");
}

SocketMeeting::Reunion SocketMeeting::reunite(const std::vector<int>& members) {
  std::string all;
  for (const std::string& address : addresses_) all += address;
  const auto group_of = [&](std::uint64_t number) {
    return hash_of(all + " reunion " + std::to_string(number));
  };
  // One more rank may fail in each.
  for (std::size_t attempt = 0; attempt <= members.size(); ++attempt) {
    shut_down();
    const std::uint64_t group = group_of(++reunions_);
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience_);
    RollCall call(*this, group, members);
    if (!call.run(group_of(reunions_ + 1), deadline)) continue;
    std::vector<Presence> presences = call.presences();
    Reunion reunion{group, {}, nullptr};
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (presences[k] == Presence::present) reunion.members.push_back(members[k]);
    }
    const auto place = std::find(reunion.members.begin(), reunion.members.end(), rank_);
    reunion.connections = keep(static_cast<int>(place - reunion.members.begin()), call.take_descriptors());
    if (!agree(reunion.connections, presences)) continue;
    require_larger_part(presences);
    return reunion;
  }
  throw PeerFailure("kadam: the ranks that are left do not agree on who is there");
}

}  // namespace kadam
