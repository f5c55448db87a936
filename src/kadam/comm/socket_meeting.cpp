// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/gathers.hpp>
#include <kadam/comm/socket_meeting.hpp>
#include <kadam/text_hash.hpp>
#include <kadam/version.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <utility>

namespace kadam {

namespace {

[[nodiscard]] std::string counted(std::size_t ranks) {
  return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

sockets::Clock::time_point deadline_after(Seconds patience) {
  if (patience == for_ever) return sockets::Clock::time_point::max();
  return sockets::Clock::now() + std::chrono::duration_cast<sockets::Clock::duration>(patience);
}

/// The settings without which ranks do not understand each other's messages.
std::string terms_of(const ExchangeOptions& options) {
  const std::size_t piece_bytes =
      options.piece_bytes > 0 ? options.piece_bytes : automatic_piece_bytes(kernels_run_on_host);
  return std::string("Kadam ") + KADAM_VERSION_STRING + ", pieces of " + std::to_string(piece_bytes) +
         " bytes" + (options.staging == Staging::always ? ", staged" : "") + "\n";
}

}  // namespace

SocketMeeting::SocketMeeting(int rank, const SocketOptions& options)
    : rank_(rank),
      patience_(options.connect_seconds),
      terms_(terms_of(options.exchange)),
      listener_(options.host) {
  if (options.exchange.timeout_seconds > 0.0)
    patience_ = std::min(patience_, Seconds(options.exchange.timeout_seconds));
}

sockets::Hello SocketMeeting::hello(std::uint64_t group) const {
  return {.group = group, .rank = static_cast<std::uint64_t>(rank_), .epoch = reunions_};
}

std::shared_ptr<SocketConnections> SocketMeeting::connect(std::uint64_t group,
                                                          const std::vector<int>& members,
                                                          const HasFailed& has_failed, Seconds patience) {
  const auto deadline = deadline_after(patience);
  std::vector<int> descriptors(members.size(), -1);
  int own_place = 0;
  try {
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (members[k] == rank_) own_place = static_cast<int>(k);
      if (members[k] < rank_) descriptors[k] = call(group, members[k], deadline);
    }
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (members[k] > rank_) descriptors[k] = wait_for(group, members[k], deadline, has_failed);
    }
  } catch (const std::runtime_error& failure) {
    for (const int descriptor : descriptors) {
      if (descriptor >= 0) ::close(descriptor);
    }
    // Ranks that have been together have started, and their addresses are right: one of them has failed.
    if (has_failed) throw PeerFailure(failure.what());
    throw;
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

int SocketMeeting::call(std::uint64_t group, int rank, sockets::Clock::time_point deadline) const {
  const std::string& address = addresses_[static_cast<std::size_t>(rank)];
  const std::optional<int> begun = sockets::begin_connection(address);
  if (!begun)
    throw std::runtime_error(
        "kadam::make_socket_communicator: rank " + std::to_string(rank) + " is at " + address +
        ", and this host does not know that name: on that rank, set SocketOptions::host to a "
        "name or an address that other hosts know");
  const int descriptor = *begun;
  sockets::Hello here = hello(group);
  pollfd one{descriptor, POLLOUT, 0};
  int error = errno == EINPROGRESS ? 0 : errno;
  bool is_connected = error == 0 && ::poll(&one, 1, sockets::milliseconds_until(deadline)) > 0;
  if (is_connected) error = sockets::error_of(descriptor);
  is_connected = is_connected && error == 0;
  if (!is_connected || !sockets::transfer(descriptor, here, POLLOUT, deadline)) {
    if (error == 0) error = errno;
    ::close(descriptor);
    throw std::runtime_error("kadam::make_socket_communicator: cannot connect to rank " +
                             std::to_string(rank) + " at " + address + ": " + std::strerror(error));
  }
  return sockets::ready(descriptor);
}

/// Waits for the connection from a rank. Others may come before it, also those of later groups.
int SocketMeeting::wait_for(std::uint64_t group, int rank, sockets::Clock::time_point deadline,
                            const HasFailed& has_failed) {
  // A failure does not wake the listener, so it looks again after this time.
  constexpr std::chrono::milliseconds look_again{20};
  while (sockets::Clock::now() < deadline) {
    // Asked before the listener is: a rank that has connected and then failed counts as connected.
    const bool failed = has_failed && has_failed(rank);
    while (listener_.receive(std::chrono::milliseconds(0))) {
    }
    if (const std::optional<int> descriptor = listener_.take(group, rank)) return *descriptor;
    if (failed)
      throw PeerFailure("kadam: rank " + std::to_string(rank) +
                        " has failed while other ranks connected to it");
    (void)listener_.receive(
        std::min(look_again, std::chrono::milliseconds(sockets::milliseconds_until(deadline))));
  }
  throw std::runtime_error("kadam::make_socket_communicator: rank " + std::to_string(rank) +
                           " has not connected to " + listener_.address() +
                           " in time: has it been started, and can its host reach this address?");
}

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

/// Throws unless the present ranks may go on without the silent ones.
void SocketMeeting::require_larger_part(const std::vector<Presence>& presences) {
  const auto present = std::count(presences.begin(), presences.end(), Presence::present);
  const auto silent = std::count(presences.begin(), presences.end(), Presence::silent);
  const auto first =
      std::find_if(presences.begin(), presences.end(), [](Presence one) { return one != Presence::ended; });
  if (present > silent || (present == silent && *first == Presence::present)) return;
  throw PeerFailure("kadam: this rank cannot go on: it has lost " +
                    counted(static_cast<std::size_t>(silent)) + " and still reaches " +
                    counted(static_cast<std::size_t>(present - 1)) +
                    ", and only the larger part goes on (of two halves, the one with the lowest rank)");
}

SocketMeeting::Reunion SocketMeeting::reunite(const std::vector<int>& members) {
  const std::string all = std::accumulate(addresses_.begin(), addresses_.end(), std::string());
  // In each attempt one more rank may fail.
  for (std::size_t attempt = 0; attempt <= members.size(); ++attempt) {
    shut_down();
    listener_.begin(++reunions_);
    const std::uint64_t group = hash_of(all + " reunion " + std::to_string(reunions_));
    SocketRollCall roll_call(listener_, addresses_, hello(group), members);
    if (!roll_call.run(deadline_after(patience_))) continue;
    std::vector<Presence> presences = roll_call.presences();
    Reunion reunion{group, {}, nullptr};
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (presences[k] == Presence::present) reunion.members.push_back(members[k]);
    }
    const auto place = std::find(reunion.members.begin(), reunion.members.end(), rank_);
    reunion.connections =
        keep(static_cast<int>(place - reunion.members.begin()), roll_call.take_descriptors());
    if (!agree(reunion.connections, presences)) continue;
    require_larger_part(presences);
    return reunion;
  }
  throw PeerFailure("kadam: the remaining ranks do not agree on which ranks are left");
}

SocketMeeting::Reunion SocketMeeting::admit(std::uint64_t group, std::vector<int> members,
                                            const std::vector<std::string>& newcomers,
                                            const HasFailed& has_failed) {
  for (const std::string& address : newcomers) {
    members.push_back(static_cast<int>(addresses_.size()));
    addresses_.push_back(address);
  }
  door_.invite({.group = group, .epoch = reunions_, .members = members, .addresses = addresses_});
  const auto is_gone = [&](int rank) {
    return has_failed(rank) || door_.has_left(addresses_[static_cast<std::size_t>(rank)]);
  };
  auto connections = connect(group, members, is_gone, sockets::longest_silence);
  return {group, std::move(members), std::move(connections)};
}

SocketMeeting::Reunion SocketMeeting::join(const std::vector<std::string>& addresses, const std::string& kind,
                                           Seconds patience) {
  constexpr std::chrono::milliseconds look_again{100};
  // At each attempt the ranks wait for it, so a newcomer that cannot reach one of them stops asking.
  constexpr std::size_t most_failures = 3;
  std::vector<std::string> failures;
  const auto deadline = deadline_after(patience);
  auto last_heard = sockets::Clock::now();
  do {
    for (const std::string& address : addresses) {
      const std::optional<int> descriptor = reach(address, sockets::soon(deadline));
      if (!descriptor) continue;
      std::optional<Reunion> joined = join_by(*descriptor, kind, deadline, failures);
      ::close(*descriptor);
      if (joined) return *std::move(joined);
      if (failures.size() == most_failures)
        throw std::runtime_error(
            "kadam::join_socket_communicator: the ranks let this process in, but it cannot connect to all of "
            "them: " +
            failures.back());
      last_heard = sockets::Clock::now();
    }
    std::this_thread::sleep_for(look_again);
  } while (sockets::Clock::now() < std::min(deadline, last_heard + sockets::longest_silence));
  throw std::runtime_error(
      "kadam::join_socket_communicator: no rank at " +
      (addresses.empty() ? std::string("any address") : addresses.front()) +
      (addresses.size() > 1 ? " or at the other addresses" : "") +
      " has let this process in: do the ranks still train, and do they take newcomers in?");
}

/// Returns a connection to this address, or nullopt if nobody listens there.
std::optional<int> SocketMeeting::reach(const std::string& address, sockets::Clock::time_point deadline) {
  const std::optional<int> descriptor = sockets::begin_connection(address);
  if (!descriptor) return std::nullopt;
  pollfd one{*descriptor, POLLOUT, 0};
  if (::poll(&one, 1, sockets::milliseconds_until(deadline)) > 0 && sockets::error_of(*descriptor) == 0)
    return sockets::ready(*descriptor);
  ::close(*descriptor);
  return std::nullopt;
}

std::optional<SocketMeeting::Reunion> SocketMeeting::join_by(int descriptor, const std::string& kind,
                                                             sockets::Clock::time_point deadline,
                                                             std::vector<std::string>& failures) {
  std::optional<Invitation> invitation =
      SocketDoor::ask(descriptor, own_address(), with_terms(kind), deadline);
  if (!invitation) return std::nullopt;
  rank_ = invitation->rank;
  reunions_ = invitation->epoch;
  addresses_ = std::move(invitation->addresses);
  listener_.begin(reunions_);
  try {
    auto connections = connect(invitation->group, invitation->members, {}, sockets::longest_silence);
    if (!SocketDoor::is_welcome(descriptor)) return std::nullopt;
    return Reunion{invitation->group, std::move(invitation->members), std::move(connections)};
  } catch (const std::runtime_error& failure) {  // the ranks go on, and this process asks again
    failures.emplace_back(failure.what());
    return std::nullopt;
  }
}

}  // namespace kadam
