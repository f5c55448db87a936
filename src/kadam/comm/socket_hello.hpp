// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

/// What ranks say first on a connection of TCP, and how one begins.
namespace kadam::sockets {

using Clock = std::chrono::steady_clock;

/// The first message on a connection, from who has made it; in a roll call the answer as well.
struct Hello {
  std::uint64_t magic = 0x6b6164616d2d3032U;
  std::uint64_t group = 0;  ///< of ranks, the same in each
  std::uint64_t rank = 0;   ///< in all
  /// The failures after which this rank has asked who is left. Groups of an earlier epoch are no more.
  std::uint64_t epoch = 0;
};

/// A rank says at once who it is.
constexpr std::chrono::seconds longest_silence{5};

/// The group of one that belongs to none yet, and asks to join.
constexpr std::uint64_t newcomers = 0x6e6577636f6d6572U;

[[nodiscard]] int milliseconds_until(Clock::time_point deadline);
/// The deadline, or an earlier one, after the longest silence.
[[nodiscard]] Clock::time_point soon(Clock::time_point deadline);
/// Sends (event: POLLOUT) or receives (POLLIN) the whole of it. False: the connection ends, or time does.
[[nodiscard]] bool transfer(int descriptor, Hello& hello, short event, Clock::time_point deadline);
/// A text and its length. False, or nothing: the connection ends, or time does, or it is too long.
[[nodiscard]] bool send_text(int descriptor, std::string text, Clock::time_point deadline);
[[nodiscard]] std::optional<std::string> receive_text(int descriptor, Clock::time_point deadline);
[[nodiscard]] bool is_ready(int descriptor, short event);
/// Of a connection that was begun: 0, or what has become of it.
[[nodiscard]] int error_of(int descriptor);
/// Begins to connect to an address "HOST:PORT"; nothing where nobody knows the host. errno: as of connect().
[[nodiscard]] std::optional<int> begin_connection(const std::string& address);
/// The connection, whose messages are whole: none waits for more to go with it.
[[nodiscard]] int ready(int descriptor);

}  // namespace kadam::sockets
