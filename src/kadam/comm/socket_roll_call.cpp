// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/socket_roll_call.hpp>

#include <cerrno>
#include <optional>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace kadam {

SocketRollCall::SocketRollCall(SocketListener& at, const std::vector<std::string>& addresses,
                               const sockets::Hello& hello, const std::vector<int>& members)
    : at_(at), addresses_(addresses), hello_(hello), members_(members), seats_(members.size()) {
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (static_cast<std::uint64_t>(members[k]) == hello.rank) seats_[k].presence = Presence::present;
  }
}

SocketRollCall::~SocketRollCall() {
  for (const Seat& seat : seats_) {
    if (seat.descriptor >= 0) ::close(seat.descriptor);
  }
}

bool SocketRollCall::run(sockets::Clock::time_point deadline) {
  while (sockets::Clock::now() < deadline) {
    // Connections may come while answers are on their way.
    (void)at_.receive(std::chrono::milliseconds(2));
    if (at_.has_after(hello_.epoch)) return false;
    bool all_are_known = true;
    for (std::size_t k = 0; k < seats_.size(); ++k) {
      if (seats_[k].presence == Presence::silent) look_for(k, deadline);
      all_are_known = all_are_known && seats_[k].presence != Presence::silent;
    }
    if (all_are_known) break;
  }
  return true;
}

std::vector<Presence> SocketRollCall::presences() const {
  std::vector<Presence> all;
  for (const Seat& seat : seats_) all.push_back(seat.presence);
  return all;
}

std::vector<int> SocketRollCall::take_descriptors() {
  std::vector<int> descriptors;
  for (Seat& seat : seats_) {
    if (seat.presence == Presence::present) descriptors.push_back(std::exchange(seat.descriptor, -1));
  }
  return descriptors;
}

void SocketRollCall::look_for(std::size_t k, sockets::Clock::time_point deadline) {
  Seat& seat = seats_[k];
  const bool calls_us = static_cast<std::uint64_t>(members_[k]) > hello_.rank;
  if (calls_us) {
    if (const std::optional<int> caller = at_.take(hello_.group, members_[k])) {
      forget(seat);
      seat.descriptor = *caller;
      sockets::Hello here = hello_;
      if (sockets::transfer(seat.descriptor, here, POLLOUT, sockets::soon(deadline)))
        seat.presence = Presence::present;
      return;
    }
  }
  if (seat.descriptor < 0) {
    if (sockets::Clock::now() >= seat.next_try) begin(seat, members_[k]);
  } else if (!seat.is_asked) {
    if (sockets::is_ready(seat.descriptor, POLLOUT)) ask(seat, calls_us, deadline);
  } else if (sockets::is_ready(seat.descriptor, POLLIN)) {
    sockets::Hello answer;
    const bool is_here = sockets::transfer(seat.descriptor, answer, POLLIN, sockets::soon(deadline)) &&
                         answer.group == hello_.group;
    if (is_here) {
      seat.presence = Presence::present;
    } else {
      forget(seat);
    }
  }
}

void SocketRollCall::begin(Seat& seat, int rank) {
  const std::optional<int> begun = sockets::begin_connection(addresses_[static_cast<std::size_t>(rank)]);
  if (!begun) return;
  seat.descriptor = *begun;
  if (errno == ECONNREFUSED) has_ended(seat);
}

/// The connection is made, or has failed. To a rank that has to call this one, it shows that the process has
/// not ended; nothing is asked, since that rank has to call.
void SocketRollCall::ask(Seat& seat, bool calls_us, sockets::Clock::time_point deadline) {
  const int error = sockets::error_of(seat.descriptor);
  if (error == ECONNREFUSED) {
    has_ended(seat);
    return;
  }
  sockets::Hello here = hello_;
  seat.is_asked = error == 0 && !calls_us &&
                  sockets::transfer(sockets::ready(seat.descriptor), here, POLLOUT, sockets::soon(deadline));
  if (!seat.is_asked) forget(seat);
}

void SocketRollCall::has_ended(Seat& seat) {
  forget(seat);
  seat.presence = Presence::ended;
}

void SocketRollCall::forget(Seat& seat) {
  if (seat.descriptor >= 0) ::close(seat.descriptor);
  seat = Seat{};
  seat.next_try = sockets::Clock::now() + std::chrono::milliseconds(100);
}

}  // namespace kadam
