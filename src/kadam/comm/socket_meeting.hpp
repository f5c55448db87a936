// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/socket_communicator.hpp>
#include <kadam/comm/socket_connections.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kadam {

/// Where all ranks listen, and how groups of them connect.
class SocketMeeting {
 public:
  SocketMeeting(int rank, const SocketOptions& options);
  SocketMeeting(const SocketMeeting&) = delete;
  SocketMeeting& operator=(const SocketMeeting&) = delete;
  ~SocketMeeting();

  [[nodiscard]] static std::string host_name();
  [[nodiscard]] const std::string& own_address() const { return own_; }
  [[nodiscard]] Seconds patience() const { return patience_; }
  /// The addresses of all ranks.
  void meet(std::vector<std::string> addresses) { addresses_ = std::move(addresses); }

  /// Connections between these of all ranks, in their order. Collective over them.
  [[nodiscard]] std::shared_ptr<SocketConnections> connect(std::uint64_t group,
                                                           const std::vector<int>& members);
  /// Ends all connections that were made here.
  void shut_down();

  /// Those of some ranks who are still there, and connections between them.
  struct Reunion {
    std::uint64_t group = 0;
    std::vector<int> members;
    std::shared_ptr<SocketConnections> connections;
  };
  /// After a failure. A rank is there if it comes here as well; its process has ended if its host refuses a
  /// connection; else it is waited for until patience() ends. Ranks that are silent may be alive behind a
  /// cut cable: then only the larger part of the members goes on, of two halves that with the lowest rank.
  ///
  /// Collective over those who are there. Errors: PeerFailure in the smaller part, and where the ranks do not
  /// agree on who is there.
  [[nodiscard]] Reunion reunite(const std::vector<int>& members);

 private:
  using Clock = std::chrono::steady_clock;
  using From = std::pair<std::uint64_t, std::uint64_t>;  // group, rank

  [[nodiscard]] int call(std::uint64_t group, int rank, Clock::time_point deadline) const;
  [[nodiscard]] int wait_for(std::uint64_t group, int rank, Clock::time_point deadline);
  /// Takes the connections that have come, whose ranks have said who they are, into waiting_. Waits at most
  /// so long for one to come or to speak.
  void receive_guests(std::chrono::milliseconds patience);
  [[nodiscard]] std::shared_ptr<SocketConnections> keep(int own_place, const std::vector<int>& descriptors);

  enum class Presence : std::uint8_t { silent, ended, present };
  class RollCall;
  /// Whether all who are present say the same of who is. Who has ended by one of them has ended.
  [[nodiscard]] bool agree(const std::shared_ptr<SocketConnections>& connections,
                           std::vector<Presence>& presences) const;
  static void require_larger_part(const std::vector<Presence>& presences);

  int rank_;
  Seconds patience_;
  int listener_ = -1;
  std::string own_;
  std::vector<std::string> addresses_;
  /// A connection that nothing has been said on yet.
  struct Guest {
    int descriptor = -1;
    Clock::time_point since;
  };
  std::vector<Guest> guests_;
  std::map<From, int> waiting_;  ///< connections that others have made before this rank asked for them
  std::vector<std::weak_ptr<SocketConnections>> made_;
  std::uint64_t reunions_ = 0;
};

}  // namespace kadam
