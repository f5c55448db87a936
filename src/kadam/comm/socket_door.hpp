// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/socket_listener.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kadam {

/// A message to a newcomer: the group of ranks that takes it in, and its rank.
struct Invitation {
  std::uint64_t group = 0;             ///< as in Hello
  std::uint64_t epoch = 0;             ///< as in Hello
  int rank = 0;                        ///< the newcomer's, among all ranks
  std::vector<int> members;            ///< of the group, as numbers among all ranks
  std::vector<std::string> addresses;  ///< of all ranks, also of those that have ended

  [[nodiscard]] std::string to_text() const;
  /// Returns nullopt if the text is no invitation.
  [[nodiscard]] static std::optional<Invitation> from_text(const std::string& text);
};

/// A rank's door: processes that belong to no group yet, the newcomers, ask here to join the rank's group,
/// and are answered.
///
/// A newcomer tells at which address it listens, and its kind. Either it is refused with a sentence; or it is
/// invited, connects with all ranks, and is told at last that it is in. If its connection to the door ends
/// before that, it is not in.
class SocketDoor {
 public:
  SocketDoor() = default;
  SocketDoor(const SocketDoor&) = delete;
  SocketDoor& operator=(const SocketDoor&) = delete;
  ~SocketDoor() { close(); }

  /// The number of newcomers that wait here. Takes in those that have come to the listener.
  [[nodiscard]] std::size_t waiting(SocketListener& listener);
  /// Returns the addresses at which the newcomers that wait here listen. First refuses those of another kind.
  [[nodiscard]] std::vector<std::string> addresses(SocketListener& listener, const std::string& kind);
  /// Sends the invitation to all newcomers that wait here, to each with its rank: its place in
  /// invitation.addresses, which have to hold its address.
  void invite(Invitation invitation);
  /// Whether the newcomer that listens at this address waits here and has ended.
  [[nodiscard]] bool has_left(const std::string& address) const;
  /// Tells all newcomers that wait here that they are in.
  void welcome();
  /// Turns all newcomers away that wait here, by ending their connections.
  void close();

  /// The newcomer's side: asks, over a connection to a rank, to join, and waits until `deadline` for an
  /// answer. own_address: where this process listens. Returns nullopt if no invitation comes. Errors:
  /// std::invalid_argument, with the rank's sentence, if it is refused.
  [[nodiscard]] static std::optional<Invitation> ask(int descriptor, const std::string& own_address,
                                                     const std::string& kind,
                                                     sockets::Clock::time_point deadline);
  /// The newcomer's side: waits for the last answer, longest_silence at most. Returns whether the
  /// newcomer is in.
  [[nodiscard]] static bool is_welcome(int descriptor);

 private:
  struct Newcomer {
    int descriptor = -1;
    std::string address;
    std::string kind;
  };
  void look(SocketListener& listener);
  /// A newcomer sends nothing before it is answered: if something can be read, it is the end of the
  /// connection.
  [[nodiscard]] static bool has_ended(const Newcomer& one);

  std::vector<Newcomer> waiting_;
};

}  // namespace kadam
