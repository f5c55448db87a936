// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/socket_door.hpp>

#include <algorithm>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace kadam {
namespace {

// The first letter of a rank's answer.
constexpr char invited = 'i';
constexpr char refused = 'r';
constexpr char let_in = 'w';

sockets::Clock::time_point at_once() {
  return sockets::soon(sockets::Clock::time_point::max());
}

/// The first line in which the two kinds differ, as a sentence for the newcomer.
std::string difference_of(const std::string& theirs, const std::string& its) {
  std::istringstream first(theirs);
  std::istringstream second(its);
  std::string line;
  std::string other;
  do {
    if (!std::getline(first, line)) line = "nothing more";
    if (!std::getline(second, other)) other = "nothing more";
  } while (line == other && first && second);
  return "this process cannot join the ranks: they have '" + line + "', this process has '" + other +
         "': start it with the same version and settings";
}

}  // namespace

std::string Invitation::to_text() const {
  std::ostringstream text;
  text << group << ' ' << epoch << ' ' << rank << ' ' << members.size();
  for (const int member : members) text << ' ' << member;
  for (const std::string& address : addresses) text << '\n' << address;
  return text.str();
}

std::optional<Invitation> Invitation::from_text(const std::string& text) {
  std::istringstream in(text);
  Invitation read;
  std::size_t count = 0;
  if (!(in >> read.group >> read.epoch >> read.rank >> count) || count > text.size()) return std::nullopt;
  read.members.resize(count);
  for (int& member : read.members) in >> member;
  for (std::string address; in >> address;) read.addresses.push_back(address);
  const auto ranks = static_cast<int>(read.addresses.size());
  const auto is_one = [&](int rank) { return rank >= 0 && rank < ranks; };
  if (!is_one(read.rank) || !std::all_of(read.members.begin(), read.members.end(), is_one))
    return std::nullopt;
  return read;
}

/// Takes in the newcomers that have come. Their connections come before the texts that they send.
void SocketDoor::look(SocketListener& listener) {
  while (listener.receive(std::chrono::milliseconds(0))) {
  }
  for (const int descriptor : listener.take_newcomers()) {
    const auto address = sockets::receive_text(descriptor, at_once());
    const auto kind = sockets::receive_text(descriptor, at_once());
    if (address && kind) {
      waiting_.push_back({descriptor, *address, *kind});
    } else {
      ::close(descriptor);
    }
  }
  std::erase_if(waiting_, [](const Newcomer& one) {
    if (!has_ended(one)) return false;
    ::close(one.descriptor);
    return true;
  });
}

bool SocketDoor::has_ended(const Newcomer& one) {
  return sockets::is_ready(one.descriptor, POLLIN);
}

bool SocketDoor::has_left(const std::string& address) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const Newcomer& one) { return one.address == address && has_ended(one); });
}

std::size_t SocketDoor::waiting(SocketListener& listener) {
  look(listener);
  return waiting_.size();
}

std::vector<std::string> SocketDoor::addresses(SocketListener& listener, const std::string& kind) {
  look(listener);
  std::erase_if(waiting_, [&](const Newcomer& one) {
    if (one.kind == kind) return false;
    (void)sockets::send_text(one.descriptor, refused + difference_of(kind, one.kind), at_once());
    ::close(one.descriptor);
    return true;
  });
  std::vector<std::string> all;
  for (const Newcomer& one : waiting_) all.push_back(one.address);
  return all;
}

void SocketDoor::invite(Invitation invitation) {
  const std::vector<std::string>& all = invitation.addresses;
  for (const Newcomer& one : waiting_) {
    // The last one, because a rank that has failed may have listened at the same address before.
    const auto place = std::find(all.rbegin(), all.rend(), one.address);
    invitation.rank = static_cast<int>(all.rend() - place) - 1;
    (void)sockets::send_text(one.descriptor, invited + invitation.to_text(), at_once());
  }
}

void SocketDoor::welcome() {
  for (const Newcomer& one : waiting_)
    (void)sockets::send_text(one.descriptor, std::string(1, let_in), at_once());
  close();
}

void SocketDoor::close() {
  for (const Newcomer& one : waiting_) ::close(one.descriptor);
  waiting_.clear();
}

std::optional<Invitation> SocketDoor::ask(int descriptor, const std::string& own_address,
                                          const std::string& kind, sockets::Clock::time_point deadline) {
  sockets::Hello hello{.group = sockets::newcomers};
  if (!sockets::transfer(descriptor, hello, POLLOUT, at_once()) ||
      !sockets::send_text(descriptor, own_address, at_once()) ||
      !sockets::send_text(descriptor, kind, at_once()))
    return std::nullopt;
  const std::optional<std::string> answer = sockets::receive_text(descriptor, deadline);
  if (!answer || answer->empty()) return std::nullopt;
  if (answer->front() == refused) throw std::invalid_argument("kadam: " + answer->substr(1));
  return Invitation::from_text(answer->substr(1));
}

bool SocketDoor::is_welcome(int descriptor) {
  return sockets::receive_text(descriptor, at_once()) == std::string(1, let_in);
}

}  // namespace kadam
