// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/socket_listener.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <set>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace kadam {

namespace {

/// The host part of this rank's address: the host's only address beside the loopback; its name if it has
/// several or none.
std::string own_host() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return SocketListener::host_name();
  std::set<std::string> addresses;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool is_up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_up || one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ifa_addr, sizeof(sockaddr_in), text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0)
      addresses.insert(text.data());
  }
  ::freeifaddrs(all);
  return addresses.size() == 1 ? *addresses.begin() : SocketListener::host_name();
}

}  // namespace

std::string SocketListener::host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

SocketListener::SocketListener(const std::string& host) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_ANY);
  auto* const name = reinterpret_cast<sockaddr*>(&any);
  socklen_t length = sizeof(any);
  if (listener_ < 0 || ::bind(listener_, name, length) != 0 || ::listen(listener_, SOMAXCONN) != 0 ||
      ::getsockname(listener_, name, &length) != 0)
    throw std::runtime_error(std::string("kadam::make_socket_communicator: cannot listen for other ranks: ") +
                             std::strerror(errno));
  address_ = (host.empty() ? own_host() : host) + ":" + std::to_string(ntohs(any.sin_port));
}

SocketListener::~SocketListener() {
  for (const Guest& guest : guests_) ::close(guest.descriptor);
  for (const auto& [from, known] : waiting_) ::close(known.descriptor);
  for (const int newcomer : newcomers_) ::close(newcomer);
  if (listener_ >= 0) ::close(listener_);
}

bool SocketListener::receive(std::chrono::milliseconds patience) {
  std::vector<pollfd> descriptors = {{listener_, POLLIN, 0}};
  for (const Guest& guest : guests_) descriptors.push_back({guest.descriptor, POLLIN, 0});
  if (::poll(descriptors.data(), static_cast<nfds_t>(descriptors.size()),
             static_cast<int>(patience.count())) <= 0)
    return false;
  std::vector<Guest> silent;
  for (std::size_t k = 0; k < guests_.size(); ++k) {
    const int descriptor = guests_[k].descriptor;
    const bool speaks = descriptors[k + 1].revents != 0;
    if (!speaks && sockets::Clock::now() - guests_[k].since < sockets::longest_silence) {
      silent.push_back(guests_[k]);
      continue;
    }
    sockets::Hello hello;
    const bool is_rank =
        speaks &&
        sockets::transfer(descriptor, hello, POLLIN, sockets::Clock::now() + sockets::longest_silence) &&
        hello.magic == sockets::Hello{}.magic && (hello.epoch >= epoch_ || hello.group == sockets::newcomers);
    if (is_rank && hello.group == sockets::newcomers) {
      newcomers_.push_back(sockets::ready(descriptor));
      continue;
    }
    if (!is_rank) {
      ::close(descriptor);  // no rank, or one of an earlier epoch
      continue;
    }
    Known& known = waiting_[{hello.group, hello.rank}];
    if (known.descriptor >= 0) ::close(known.descriptor);
    known = {sockets::ready(descriptor), hello.epoch};
  }
  guests_ = std::move(silent);
  if (descriptors.front().revents == 0) return true;
  const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor >= 0) guests_.push_back({descriptor, sockets::Clock::now()});
  return true;
}

std::optional<int> SocketListener::take(std::uint64_t group, int rank) {
  const auto found = waiting_.find({group, static_cast<std::uint64_t>(rank)});
  if (found == waiting_.end()) return std::nullopt;
  const int descriptor = found->second.descriptor;
  waiting_.erase(found);
  return descriptor;
}

std::vector<int> SocketListener::take_newcomers() {
  return std::exchange(newcomers_, {});
}

bool SocketListener::has_after(std::uint64_t epoch) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const auto& one) { return one.second.epoch > epoch; });
}

void SocketListener::begin(std::uint64_t epoch) {
  epoch_ = epoch;
  std::erase_if(waiting_, [&](const auto& one) {
    if (one.second.epoch >= epoch) return false;
    ::close(one.second.descriptor);
    return true;
  });
}

}  // namespace kadam
