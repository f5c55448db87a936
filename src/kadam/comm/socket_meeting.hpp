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

/// Connects groups of ranks, brings together those that are left after a failure, and takes newcomers in. One
/// for all transports that were made from one another.
///
/// A rank's number here is that among all ranks that have ever belonged to them, as in the list of addresses;
/// `members` are such numbers.
class SocketMeeting {
 public:
  SocketMeeting(int rank, const SocketOptions& options);

  /// The address at which this rank listens.
  [[nodiscard]] const std::string& own_address() const { return listener_.address(); }
  /// How long this rank waits for others to connect: SocketOptions::connect_seconds, but at most the timeout.
  [[nodiscard]] Seconds patience() const { return patience_; }
  /// Sets the addresses of all ranks, in rank order. To be called before connect().
  void meet(std::vector<std::string> addresses) { addresses_ = std::move(addresses); }

  /// Whether a rank has ended its connections since the ranks last heard of each other: it has failed, or has
  /// given up.
  using HasFailed = std::function<bool(int rank)>;
  /// Makes connections between the members, in their order. Collective over them.
  ///
  /// group: identifies them, the same number on each; has_failed: empty if the members have never heard of
  /// each other. Errors: std::runtime_error if a member is not reached within `patience`. If the members have
  /// heard of each other before, PeerFailure in its place, and at once if one of them fails.
  [[nodiscard]] std::shared_ptr<SocketConnections> connect(std::uint64_t group,
                                                           const std::vector<int>& members,
                                                           const HasFailed& has_failed, Seconds patience);
  /// Ends all connections that were made here and still exist.
  void shut_down();

  /// A new group of ranks, and the connections between them.
  struct Reunion {
    std::uint64_t group = 0;
    std::vector<int> members;
    std::shared_ptr<SocketConnections> connections;
  };
  /// After a failure: finds the members that are still there, and connects them. A member is there if it
  /// calls this as well; its process has ended if its host refuses a connection; otherwise it is waited for
  /// until patience() has passed. Members that stay silent may be alive behind a cut cable. Therefore only
  /// the larger part of the members that have not ended goes on; of two halves, the one with the lowest rank.
  ///
  /// Collective over the members that are still there. Errors: PeerFailure in the smaller part, and if the
  /// members do not agree on which of them are there.
  [[nodiscard]] Reunion reunite(const std::vector<int>& members);

  /// The text that newcomers are compared by: this rank's terms (the version of Kadam, the length of pieces,
  /// Staging::always), then `kind`.
  [[nodiscard]] std::string with_terms(const std::string& kind) const { return terms_ + kind; }
  /// The newcomers that ask this rank to join: newcomers() is their number; newcomers_of() returns the
  /// addresses at which those of this kind listen, and refuses the others.
  [[nodiscard]] std::size_t newcomers() { return door_.waiting(listener_); }
  [[nodiscard]] std::vector<std::string> newcomers_of(const std::string& kind) {
    return door_.addresses(listener_, with_terms(kind));
  }
  /// Connects the members and, behind them, the newcomers at these addresses; `newcomers` are those of all
  /// ranks, the same list on each. Collective.
  ///
  /// To be followed by welcome() or dismiss(), the same on all ranks. Errors: PeerFailure if a newcomer has
  /// not connected within longest_silence, or if one of the members fails.
  [[nodiscard]] Reunion admit(std::uint64_t group, std::vector<int> members,
                              const std::vector<std::string>& newcomers, const HasFailed& has_failed);
  /// Tells this rank's newcomers that they are in, or turns them away.
  void welcome() { door_.welcome(); }
  void dismiss() { door_.close(); }
  /// The newcomer's side: asks the ranks at these addresses, one after the other, until one lets it in.
  ///
  /// Errors: std::invalid_argument if it is refused; std::runtime_error after `patience`, after
  /// longest_silence in which nobody listens at any of the addresses, or if it cannot reach all ranks.
  [[nodiscard]] Reunion join(const std::vector<std::string>& addresses, const std::string& kind,
                             Seconds patience);

 private:
  [[nodiscard]] sockets::Hello hello(std::uint64_t group) const;
  [[nodiscard]] static std::optional<int> reach(const std::string& address,
                                                sockets::Clock::time_point deadline);
  /// Asks one rank to join, over a connection to it. Returns nullopt if the rank does not let it in; adds to
  /// `failures` why it could not connect with all ranks.
  [[nodiscard]] std::optional<Reunion> join_by(int descriptor, const std::string& kind,
                                               sockets::Clock::time_point deadline,
                                               std::vector<std::string>& failures);
  [[nodiscard]] int call(std::uint64_t group, int rank, sockets::Clock::time_point deadline) const;
  [[nodiscard]] int wait_for(std::uint64_t group, int rank, sockets::Clock::time_point deadline,
                             const HasFailed& has_failed);
  [[nodiscard]] std::shared_ptr<SocketConnections> keep(int own_place, const std::vector<int>& descriptors);
  /// Exchanges the presences over the connections. Returns whether all present ranks agree on which ranks are
  /// present; a rank that is silent here but has ended for another rank counts as ended.
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
  std::uint64_t reunions_ = 0;  ///< the epoch: the roll calls so far
};

}  // namespace kadam
