// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

/// How a TCP connection between ranks begins, and the first messages on it.
namespace kadam::sockets {

using Clock = std::chrono::steady_clock;

/// The first message on a connection, from the rank that has made it; in a roll call also the answer to it.
struct Hello {
  std::uint64_t magic = 0x6b6164616d2d3032U;  ///< "kadam-02": this protocol and its version
  std::uint64_t group = 0;                    ///< identifies the group of ranks that connect
  std::uint64_t rank = 0;                     ///< the sender's, among all ranks
  /// The number of roll calls that this rank has made after failures. Groups of an earlier epoch do not exist
  /// any more.
  std::uint64_t epoch = 0;
};

/// How long a connection may say nothing: a rank sends its Hello at once.
constexpr std::chrono::seconds longest_silence{5};

/// The group in the Hello of a process that belongs to no group yet and asks to join one: "newcomer".
constexpr std::uint64_t newcomers = 0x6e6577636f6d6572U;

/// The time until `deadline`, at least 0.
[[nodiscard]] int milliseconds_until(Clock::time_point deadline);
/// The deadline, or now + longest_silence if that is earlier.
[[nodiscard]] Clock::time_point soon(Clock::time_point deadline);
/// Sends (event: POLLOUT) or receives (POLLIN) a whole Hello. Returns false if the connection or the time
/// ends before.
[[nodiscard]] bool transfer(int descriptor, Hello& hello, short event, Clock::time_point deadline);
/// These send and receive a text after its length. They return false or nullopt if the connection or the time
/// ends before, or if the text to be received is longer than 16 MiB.
[[nodiscard]] bool send_text(int descriptor, std::string text, Clock::time_point deadline);
[[nodiscard]] std::optional<std::string> receive_text(int descriptor, Clock::time_point deadline);
/// Whether poll() reports this event, or an error, for the descriptor now. Does not wait.
[[nodiscard]] bool is_ready(int descriptor, short event);
/// The error of a connection that was begun, 0 if there is none.
[[nodiscard]] int error_of(int descriptor);
/// Begins to connect to an address "HOST:PORT" and returns the descriptor, without waiting for the
/// connection; nullopt if the host's name is unknown. errno is that of connect(), or 0.
[[nodiscard]] std::optional<int> begin_connection(const std::string& address);
/// Returns the descriptor. Turns Nagle's algorithm off: messages are written whole, and none waits for more
/// data.
[[nodiscard]] int ready(int descriptor);

}  // namespace kadam::sockets
