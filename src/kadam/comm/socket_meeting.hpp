// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/socket_communicator.hpp>
#include <kadam/comm/socket_connections.hpp>
#include <kadam/comm/socket_door.hpp>
#include <kadam/comm/socket_listener.hpp>
#include <kadam/comm/socket_roll_call.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kadam {

/// How groups of ranks connect, meet again after a failure, and take others in.
class SocketMeeting {
 public:
  SocketMeeting(int rank, const SocketOptions& options);

  [[nodiscard]] const std::string& own_address() const { return listener_.address(); }
  [[nodiscard]] Seconds patience() const { return patience_; }
  /// The addresses of all ranks.
  void meet(std::vector<std::string> addresses) { addresses_ = std::move(addresses); }

  /// Whether a rank has ended or given up since these ranks have last heard of each other.
  using HasFailed = std::function<bool(int rank)>;
  /// Connections between these of all ranks, in their order. Collective over them.
  ///
  /// has_failed: empty where they have never heard of each other. Errors: std::runtime_error where one is not
  /// reached within so long; PeerFailure in place of it where they have heard of each other, and at once if
  /// one fails.
  [[nodiscard]] std::shared_ptr<SocketConnections> connect(std::uint64_t group,
                                                           const std::vector<int>& members,
                                                           const HasFailed& has_failed, Seconds patience);
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

  /// A kind of ranks, behind what they have to be of one mind about in any case.
  [[nodiscard]] std::string with_terms(const std::string& kind) const { return terms_ + kind; }
  /// Who asks this rank to be let in: how many, and where those of this kind listen. The others are refused.
  [[nodiscard]] std::size_t newcomers() { return door_.waiting(listener_); }
  [[nodiscard]] std::vector<std::string> newcomers_of(const std::string& kind) {
    return door_.addresses(listener_, with_terms(kind));
  }
  /// These of all ranks, and behind them those at these addresses, newcomers of all ranks. Collective.
  ///
  /// Then welcome() or dismiss(), the same on all ranks. Errors: std::runtime_error where a newcomer has not
  /// connected within some seconds; PeerFailure where another rank fails.
  [[nodiscard]] Reunion admit(std::uint64_t group, std::vector<int> members,
                              const std::vector<std::string>& newcomers, const HasFailed& has_failed);
  void welcome() { door_.welcome(); }
  void dismiss() { door_.close(); }
  /// Of a newcomer: asks the ranks at these addresses, one after the other, until it is let in.
  ///
  /// Errors: std::invalid_argument where it is refused; std::runtime_error after so long, some seconds in
  /// which nobody listens at any of them, or where it cannot reach all ranks.
  [[nodiscard]] Reunion join(const std::vector<std::string>& addresses, const std::string& kind,
                             Seconds patience);

 private:
  [[nodiscard]] sockets::Hello hello(std::uint64_t group) const;
  [[nodiscard]] static std::optional<int> reach(const std::string& address,
                                                sockets::Clock::time_point deadline);
  /// Over a connection with a rank. Nothing where that does not let it in.
  [[nodiscard]] std::optional<Reunion> join_by(int descriptor, const std::string& kind,
                                               sockets::Clock::time_point deadline,
                                               std::vector<std::string>& failures);
  [[nodiscard]] int call(std::uint64_t group, int rank, sockets::Clock::time_point deadline) const;
  [[nodiscard]] int wait_for(std::uint64_t group, int rank, sockets::Clock::time_point deadline,
                             const HasFailed& has_failed);
  [[nodiscard]] std::shared_ptr<SocketConnections> keep(int own_place, const std::vector<int>& descriptors);
  /// Whether all who are present say the same of who is. Who has ended by one of them has ended.
  [[nodiscard]] bool agree(const std::shared_ptr<SocketConnections>& connections,
                           std::vector<Presence>& presences) const;
  static void require_larger_part(const std::vector<Presence>& presences);

  int rank_;
  Seconds patience_;
  std::string terms_;
  SocketListener listener_;
  SocketDoor door_;
  std::vector<std::string> addresses_;
  std::vector<std::weak_ptr<SocketConnections>> made_;
  std::uint64_t reunions_ = 0;  ///< the epoch
};

}  // namespace kadam
