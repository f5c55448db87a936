// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/socket_hello.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kadam {

/// Where a rank listens, and the connections that others have made before it asks for them.
class SocketListener {
 public:
  /// host: as of SocketOptions. Errors: std::runtime_error if nothing can listen.
  explicit SocketListener(const std::string& host);
  SocketListener(const SocketListener&) = delete;
  SocketListener& operator=(const SocketListener&) = delete;
  ~SocketListener();

  [[nodiscard]] static std::string host_name();
  /// "HOST:PORT", for others.
  [[nodiscard]] const std::string& address() const { return address_; }

  /// Takes in the connections that have come, whose ranks have said who they are. Waits at most so long for
  /// one to come or to speak; returns whether one did.
  bool receive(std::chrono::milliseconds patience);
  /// The connection of this rank, if it has come. The caller closes it.
  [[nodiscard]] std::optional<int> take(std::uint64_t group, int rank);
  /// The connections of those who ask to join, and have come since the last call. The caller closes them.
  [[nodiscard]] std::vector<int> take_newcomers();
  /// Whether one has come of a later epoch.
  [[nodiscard]] bool has_after(std::uint64_t epoch) const;
  /// Ends all of earlier epochs, also those to come.
  void begin(std::uint64_t epoch);

 private:
  using From = std::pair<std::uint64_t, std::uint64_t>;  // group, rank
  /// A connection that nothing has been said on yet.
  struct Guest {
    int descriptor = -1;
    sockets::Clock::time_point since;
  };
  struct Known {
    int descriptor = -1;
    std::uint64_t epoch = 0;
  };

  int listener_ = -1;
  std::string address_;
  std::uint64_t epoch_ = 0;
  std::vector<Guest> guests_;
  std::map<From, Known> waiting_;
  std::vector<int> newcomers_;
};

}  // namespace kadam
