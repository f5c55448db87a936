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

/// Listens for connections from other ranks, and keeps those that come before this rank asks for them.
class SocketListener {
 public:
  /// host: as SocketOptions::host. Errors: std::runtime_error if it cannot listen.
  explicit SocketListener(const std::string& host);
  SocketListener(const SocketListener&) = delete;
  SocketListener& operator=(const SocketListener&) = delete;
  ~SocketListener();

  /// The name of this host.
  [[nodiscard]] static std::string host_name();
  /// The address "HOST:PORT" at which others connect.
  [[nodiscard]] const std::string& address() const { return address_; }

  /// Accepts connections, and reads from them which ranks have made them. Waits for `patience` at most until
  /// a connection or a Hello comes; returns whether one did. When one comes or speaks, connections that have
  /// said nothing for longest_silence are closed.
  bool receive(std::chrono::milliseconds patience);
  /// Returns the connection from this rank for this group, or nullopt if it has not come. The caller closes
  /// it.
  [[nodiscard]] std::optional<int> take(std::uint64_t group, int rank);
  /// Returns the connections of newcomers that have come since the last call. The caller closes them.
  [[nodiscard]] std::vector<int> take_newcomers();
  /// Whether a connection of a later epoch has come.
  [[nodiscard]] bool has_after(std::uint64_t epoch) const;
  /// Begins an epoch: closes all connections of earlier epochs, also those that come later.
  void begin(std::uint64_t epoch);

 private:
  using From = std::pair<std::uint64_t, std::uint64_t>;  // group, rank
  /// A connection whose Hello has not come yet.
  struct Guest {
    int descriptor = -1;
    sockets::Clock::time_point since;
  };
  /// A connection whose Hello has come.
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
