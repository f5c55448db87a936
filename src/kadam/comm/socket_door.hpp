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

/// What a newcomer is told of the group that takes it in.
struct Invitation {
  std::uint64_t group = 0;
  std::uint64_t epoch = 0;
  int rank = 0;                        ///< of the newcomer, in all
  std::vector<int> members;            ///< of the group
  std::vector<std::string> addresses;  ///< of all ranks, also of those who are no more

  [[nodiscard]] std::string to_text() const;
  /// Nothing for a text that is none.
  [[nodiscard]] static std::optional<Invitation> from_text(const std::string& text);
};

/// Where processes that belong to no group yet ask a rank to join its group, and are answered.
///
/// A newcomer says where it listens and of which kind it is. It is refused with a sentence, or it waits for
/// an invitation, connects with all ranks, and hears at last that it is one of them. If the connection ends
/// before that, it is not.
class SocketDoor {
 public:
  SocketDoor() = default;
  SocketDoor(const SocketDoor&) = delete;
  SocketDoor& operator=(const SocketDoor&) = delete;
  ~SocketDoor() { close(); }

  /// How many wait.
  [[nodiscard]] std::size_t waiting(SocketListener& listener);
  /// Where those who wait listen. Refuses those of another kind.
  [[nodiscard]] std::vector<std::string> addresses(SocketListener& listener, const std::string& kind);
  /// Those who wait are among the addresses, and are told their ranks.
  void invite(Invitation invitation);
  /// Whether the one that listens there waited here, and has ended.
  [[nodiscard]] bool has_left(const std::string& address) const;
  /// They are in.
  void welcome();
  /// Nobody who has waited is let in.
  void close();

  /// The other side: asks the rank at `address`, and waits for an answer. Nothing: there is none. Errors:
  /// std::invalid_argument where it is refused.
  [[nodiscard]] static std::optional<Invitation> ask(int descriptor, const std::string& own_address,
                                                     const std::string& kind,
                                                     sockets::Clock::time_point deadline);
  /// Whether the newcomer is in.
  [[nodiscard]] static bool is_welcome(int descriptor);

 private:
  struct Newcomer {
    int descriptor = -1;
    std::string address;
    std::string kind;
  };
  void look(SocketListener& listener);
  /// Nothing is said until there is an answer: what comes is the end.
  [[nodiscard]] static bool has_ended(const Newcomer& one);

  std::vector<Newcomer> waiting_;
};

}  // namespace kadam
