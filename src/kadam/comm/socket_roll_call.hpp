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

/// Of a rank after a failure. Later ones overrule earlier ones where ranks differ.
enum class Presence : std::uint8_t { silent, ended, present };

/// Asks who of some ranks is still there. A rank calls those before it, which answer; those after it call.
class SocketRollCall {
 public:
  /// at: of this rank. addresses: of all ranks. hello: what this rank says in it.
  SocketRollCall(SocketListener& at, const std::vector<std::string>& addresses, const sockets::Hello& hello,
                 const std::vector<int>& members);
  SocketRollCall(const SocketRollCall&) = delete;
  SocketRollCall& operator=(const SocketRollCall&) = delete;
  ~SocketRollCall();

  /// Returns when all are there or have ended, or when nobody waits any more. False: others have begun the
  /// next roll call.
  [[nodiscard]] bool run(sockets::Clock::time_point deadline);

  [[nodiscard]] std::vector<Presence> presences() const;
  /// Connections to those who are present, in their order; -1 for this rank.
  [[nodiscard]] std::vector<int> take_descriptors();

 private:
  struct Seat {
    Presence presence = Presence::silent;
    int descriptor = -1;
    bool is_asked = false;  ///< the answer is what is missing
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
