// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/socket_hello.hpp>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace kadam::sockets {

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

Clock::time_point soon(Clock::time_point deadline) {
  return std::min(deadline, Clock::now() + longest_silence);
}

namespace {

bool transfer_bytes(int descriptor, char* bytes, std::size_t size, short event, Clock::time_point deadline) {
  for (std::size_t done = 0; done < size;) {
    pollfd one{descriptor, event, 0};
    if (::poll(&one, 1, milliseconds_until(deadline)) <= 0) return false;
    const ssize_t count = event == POLLIN
                              ? ::recv(descriptor, bytes + done, size - done, MSG_DONTWAIT)
                              : ::send(descriptor, bytes + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool transfer(int descriptor, Hello& hello, short event, Clock::time_point deadline) {
  return transfer_bytes(descriptor, reinterpret_cast<char*>(&hello), sizeof(Hello), event, deadline);
}

bool send_text(int descriptor, std::string text, Clock::time_point deadline) {
  std::uint64_t length = text.size();
  return transfer_bytes(descriptor, reinterpret_cast<char*>(&length), sizeof(length), POLLOUT, deadline) &&
         transfer_bytes(descriptor, text.data(), text.size(), POLLOUT, deadline);
}

std::optional<std::string> receive_text(int descriptor, Clock::time_point deadline) {
  constexpr std::uint64_t longest = std::uint64_t{16} << 20U;
  std::uint64_t length = 0;
  if (!transfer_bytes(descriptor, reinterpret_cast<char*>(&length), sizeof(length), POLLIN, deadline) ||
      length > longest)
    return std::nullopt;
  std::string text(length, ' ');
  if (!transfer_bytes(descriptor, text.data(), text.size(), POLLIN, deadline)) return std::nullopt;
  return text;
}

bool is_ready(int descriptor, short event) {
  pollfd one{descriptor, event, 0};
  return ::poll(&one, 1, 0) > 0;
}

int error_of(int descriptor) {
  int error = 0;
  socklen_t length = sizeof(error);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

std::optional<int> begin_connection(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string host = address.substr(0, colon);
  if (::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found) != 0) return std::nullopt;
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int status = ::connect(descriptor, found->ai_addr, found->ai_addrlen);
  const int error = status == 0 ? 0 : errno;
  ::freeaddrinfo(found);
  errno = error;
  return descriptor;
}

int ready(int descriptor) {
  const int on = 1;
  (void)::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return descriptor;
}

}  // namespace kadam::sockets
