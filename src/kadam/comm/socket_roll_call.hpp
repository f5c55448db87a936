// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/socket_hello.hpp>
#include <kadam/comm/socket_listener.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kadam {

/// The state of a rank after a failure, as another rank knows it. If ranks differ, ended overrules silent; if
/// they differ on present, they call the roll again.
enum class Presence : std::uint8_t { silent, ended, present };

/// Finds out which of some ranks are still there after a failure. A rank calls those with lower ranks, which
/// answer; those with higher ranks call it. It also connects to higher ranks, without a Hello: a connection
/// that is refused tells that the process has ended.
class SocketRollCall {
 public:
  /// at: this rank's listener. addresses: of all ranks. hello: the Hello that this rank sends in the roll
  /// call. members: the ranks that it asks for, and this one. at, addresses and members have to outlive the
  /// roll call.
  SocketRollCall(SocketListener& at, const std::vector<std::string>& addresses, const sockets::Hello& hello,
                 const std::vector<int>& members);
  SocketRollCall(const SocketRollCall&) = delete;
  SocketRollCall& operator=(const SocketRollCall&) = delete;
  ~SocketRollCall();

  /// Runs the roll call until each member is present or has ended, or until `deadline`. Returns false if
  /// other ranks have begun the next roll call.
  [[nodiscard]] bool run(sockets::Clock::time_point deadline);

  /// The presence of each member, in their order.
  [[nodiscard]] std::vector<Presence> presences() const;
  /// Gives up the connections to the present members, in their order, -1 for this rank. The caller closes
  /// them.
  [[nodiscard]] std::vector<int> take_descriptors();

 private:
  struct Seat {
    Presence presence = Presence::silent;
    int descriptor = -1;
    bool is_asked = false;  ///< the Hello is sent, the answer is missing
    sockets::Clock::time_point next_try = sockets::Clock::now();
  };

  void look_for(std::size_t k, sockets::Clock::time_point deadline);
  void begin(Seat& seat, int rank);
  void ask(Seat& seat, bool calls_us, sockets::Clock::time_point deadline);
  static void has_ended(Seat& seat);
  static void forget(Seat& seat);

  SocketListener& at_;
  const std::vector<std::string>& addresses_;
  sockets::Hello hello_;
  const std::vector<int>& members_;
  std::vector<Seat> seats_;
};

}  // namespace kadam
