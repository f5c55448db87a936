// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <kadam/comm/patience.hpp>
#include <kadam/comm/socket_connections.hpp>
#include <kadam/comm/socket_hello.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace kadam {
namespace {

/// How long a rank asks all the time before it sleeps: to be woken takes as long as a message over a fast
/// network.
constexpr Seconds time_to_ask{100e-6};

/// The timeout that poll() expects: rounded up; -1 for ever.
int milliseconds_of(Seconds patience) {
  const double milliseconds = std::ceil(1000.0 * patience.count());
  return milliseconds < std::numeric_limits<int>::max() ? static_cast<int>(milliseconds) : -1;
}

}  // namespace

SocketConnections::SocketConnections(int rank, const std::vector<int>& descriptors) : rank_(rank) {
  for (const int descriptor : descriptors) {
    peers_.emplace_back();
    peers_.back().descriptor = descriptor;
  }
}

SocketConnections::~SocketConnections() {
  for (const Peer& one : peers_) {
    if (one.descriptor >= 0) ::close(one.descriptor);
  }
}

bool SocketConnections::has_ended(int rank) const {
  const Peer& one = peers_[static_cast<std::size_t>(rank)];
  if (one.has_ended || one.descriptor < 0) return one.has_ended;
  return sockets::is_ready(one.descriptor, POLLRDHUP);
}

void SocketConnections::shut_down() const {
  // Whoever uses them sees the end and reports it.
  for (const Peer& one : peers_) {
    if (one.descriptor >= 0) (void)::shutdown(one.descriptor, SHUT_RDWR);
  }
}

void SocketConnections::require_alive(int rank) const {
  if (!peers_[static_cast<std::size_t>(rank)].has_ended) return;
  throw PeerFailure("the connection to rank " + std::to_string(rank) +
                    " has ended: that rank has ended, or its host cannot be reached");
}

void SocketConnections::send(Lane lane, int to, int tag, const std::byte* data, std::size_t bytes,
                             SendMode mode, SocketMessages& owner, std::size_t id) {
  require_alive(to);
  Header header{Kind::message, lane, tag, bytes, 0};
  if (mode == SendMode::synchronous) {
    header.kind = Kind::message_to_be_answered;
    header.number = ++last_number_;
    unanswered_[header.number] = {to, &owner, id, false, false};
  }
  peer(to).outgoing.push_back({header, data, 0, &owner, id});
  write_to(to);
}

void SocketConnections::receive(Lane lane, int from, const Posted& posted) {
  Peer& sender = peer(from);
  const auto matches = [&](const Header& header) {
    return header.lane == lane && (!posted.tag || *posted.tag == header.tag);
  };
  std::deque<Kept>& kept = sender.kept[static_cast<std::size_t>(lane)];
  const auto found =
      std::find_if(kept.begin(), kept.end(), [&](const Kept& one) { return matches(one.header); });
  if (found != kept.end()) {
    require_room(from, found->header, posted);
    std::copy_n(found->bytes.data(), found->bytes.size(), posted.data);
    if (found->header.kind == Kind::message_to_be_answered) answer(from, found->header);
    posted.owner->has_arrived(posted.id, found->header.tag);
    kept.erase(found);
    return;
  }
  Incoming& incoming = sender.incoming;
  const bool is_being_kept = incoming.header_read == sizeof(Header) && !incoming.receive &&
                             incoming.header.kind != Kind::answer && !is_dropped(incoming.header) &&
                             matches(incoming.header);
  if (is_being_kept) {
    require_room(from, incoming.header, posted);
    std::copy_n(incoming.kept.bytes.data(), incoming.read, posted.data);
    incoming.receive = posted;
    if (incoming.header.kind == Kind::message_to_be_answered) answer(from, incoming.header);
    return;
  }
  require_alive(from);
  sender.posted[static_cast<std::size_t>(lane)].push_back(posted);
}

void SocketConnections::move(Seconds patience) {
  std::vector<pollfd> descriptors;
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank) {
    const Peer& one = peer(rank);
    if (one.descriptor < 0 || one.has_ended) continue;
    const auto events = static_cast<short>(one.outgoing.empty() ? POLLIN : POLLIN | POLLOUT);
    descriptors.push_back({one.descriptor, events, 0});
    ranks.push_back(rank);
  }
  const int ready =
      ::poll(descriptors.data(), static_cast<nfds_t>(descriptors.size()), milliseconds_of(patience));
  if (ready < 0 && errno != EINTR)
    throw std::runtime_error(std::string("kadam::SocketConnections: poll: ") + std::strerror(errno));
  for (std::size_t k = 0; ready > 0 && k < descriptors.size(); ++k) {
    if ((descriptors[k].revents & POLLOUT) != 0) write_to(ranks[k]);
    if ((descriptors[k].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(ranks[k]);
  }
  require_those_waited_for();
}

void SocketConnections::require_those_waited_for() {
  for (int rank = 0; rank < size(); ++rank) {
    const Peer& one = peer(rank);
    const bool is_needed = !one.posted[0].empty() || !one.posted[1].empty() || !one.outgoing.empty();
    if (is_needed) require_alive(rank);
  }
  for (const auto& [number, send] : unanswered_) require_alive(send.to);
}

void SocketConnections::forget(const SocketMessages& owner) {
  for (Peer& one : peers_) {
    for (std::deque<Posted>& posted : one.posted)
      std::erase_if(posted, [&](const Posted& waits) { return waits.owner == &owner; });
    // The rest of its message is read and dropped.
    if (one.incoming.receive && one.incoming.receive->owner == &owner) {
      one.incoming.kept.bytes.resize(one.incoming.header.bytes);
      one.incoming.receive.reset();
      one.incoming.header.tag = dropped;
    }
    std::erase_if(one.outgoing,
                  [&](const Outgoing& message) { return message.owner == &owner && message.written == 0; });
    for (Outgoing& message : one.outgoing) {
      // A message that has begun cannot be finished: its memory may be gone.
      if (message.owner == &owner) end(one);
    }
  }
  std::erase_if(unanswered_, [&](const auto& one) { return one.second.owner == &owner; });
}

void SocketConnections::end(Peer& peer) {
  peer.has_ended = true;
  (void)::shutdown(peer.descriptor, SHUT_RDWR);
}

void SocketConnections::write_to(int rank) {
  Peer& to = peer(rank);
  while (!to.outgoing.empty() && !to.has_ended) {
    Outgoing& message = to.outgoing.front();
    const std::size_t total = sizeof(Header) + message.header.bytes;
    std::array<iovec, 2> parts{};
    std::size_t count = 0;
    if (message.written < sizeof(Header)) {
      parts[count++] = {reinterpret_cast<std::byte*>(&message.header) + message.written,
                        sizeof(Header) - message.written};
    }
    const std::size_t of_message = message.written - std::min(message.written, sizeof(Header));
    if (message.header.bytes > of_message)
      parts[count++] = {const_cast<std::byte*>(message.data) + of_message, message.header.bytes - of_message};
    msghdr packet{};
    packet.msg_iov = parts.data();
    packet.msg_iovlen = count;
    const ssize_t written = ::sendmsg(to.descriptor, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (written < 0) {
      end(to);
      return;
    }
    message.written += static_cast<std::size_t>(written);
    if (message.written < total) return;
    if (message.header.kind == Kind::message_to_be_answered)
      complete(message.header.number, &Unanswered::is_written);
    else if (message.owner != nullptr && message.header.kind == Kind::message)
      message.owner->has_sent(message.id);
    to.outgoing.pop_front();
  }
}

bool SocketConnections::read_into(int rank, std::byte* data, std::size_t bytes, std::size_t& read) {
  Peer& from = peer(rank);
  while (read < bytes) {
    const ssize_t got = ::recv(from.descriptor, data + read, bytes - read, MSG_DONTWAIT);
    if (got > 0) {
      read += static_cast<std::size_t>(got);
      continue;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
    end(from);
    return false;
  }
  return true;
}

void SocketConnections::read_from(int rank) {
  Incoming& incoming = peer(rank).incoming;
  for (;;) {
    if (incoming.header_read < sizeof(Header)) {
      auto* const header = reinterpret_cast<std::byte*>(&incoming.header);
      if (!read_into(rank, header, sizeof(Header), incoming.header_read)) return;
      begin_message(rank);
    }
    if (incoming.header.kind != Kind::answer) {
      std::byte* const data = incoming.receive ? incoming.receive->data : incoming.kept.bytes.data();
      if (!read_into(rank, data, incoming.header.bytes, incoming.read)) return;
    }
    end_message(rank);
  }
}

void SocketConnections::begin_message(int rank) {
  Peer& from = peer(rank);
  Incoming& incoming = from.incoming;
  if (incoming.header.kind == Kind::answer) return;
  std::deque<Posted>& posted = from.posted[static_cast<std::size_t>(incoming.header.lane)];
  const auto found = std::find_if(posted.begin(), posted.end(), [&](const Posted& one) {
    return !one.tag || *one.tag == incoming.header.tag;
  });
  if (found == posted.end()) {
    incoming.kept.bytes.resize(incoming.header.bytes);
    return;
  }
  require_room(rank, incoming.header, *found);
  incoming.receive = *found;
  posted.erase(found);
  if (incoming.header.kind == Kind::message_to_be_answered) answer(rank, incoming.header);
}

void SocketConnections::require_room(int from, const Header& header, const Posted& posted) {
  if (header.bytes <= posted.bytes) return;
  throw std::runtime_error("kadam::SocketConnections: a message of " + std::to_string(header.bytes) +
                           " bytes from rank " + std::to_string(from) + " does not fit into its receive of " +
                           std::to_string(posted.bytes) + " bytes");
}

void SocketConnections::end_message(int rank) {
  Peer& from = peer(rank);
  Incoming done = std::exchange(from.incoming, {});
  if (done.header.kind == Kind::answer) {
    complete(done.header.number, &Unanswered::is_answered);
  } else if (done.receive) {
    done.receive->owner->has_arrived(done.receive->id, done.header.tag);
  } else if (!is_dropped(done.header)) {
    done.kept.header = done.header;
    from.kept[static_cast<std::size_t>(done.header.lane)].push_back(std::move(done.kept));
  }
}

void SocketConnections::answer(int rank, const Header& header) {
  peer(rank).outgoing.push_back(
      {{Kind::answer, header.lane, header.tag, 0, header.number}, nullptr, 0, nullptr, 0});
  write_to(rank);
}

void SocketConnections::complete(std::uint64_t number, bool Unanswered::*half) {
  const auto found = unanswered_.find(number);
  if (found == unanswered_.end()) return;
  Unanswered& one = found->second;
  one.*half = true;
  if (!one.is_written || !one.is_answered) return;
  one.owner->has_sent(one.id);
  unanswered_.erase(found);
}

void SocketMessages::send(int to, int tag, const std::byte* data, std::size_t bytes, SendMode mode,
                          std::size_t id) {
  connections_->send(lane_, to, tag, data, bytes, mode, *this, id);
  ++sending_;
}

void SocketMessages::receive(int from, int tag, std::byte* data, std::size_t bytes, std::size_t id) {
  connections_->receive(lane_, from, {this, tag, data, bytes, id});
  ++receiving_;
}

void SocketMessages::receive_any(int from, std::byte* data, std::size_t bytes, std::size_t id) {
  connections_->receive(lane_, from, {this, std::nullopt, data, bytes, id});
  ++receiving_;
}

void SocketMessages::progress(Seconds patience, Done& done) {
  const Deadline deadline(patience);
  const Deadline asking(time_to_ask);
  if (done_.empty() && sending_ + receiving_ > 0) connections_->move(Seconds(0.0));
  while (done_.empty() && sending_ + receiving_ > 0 && !deadline.has_passed())
    connections_->move(asking.has_passed() ? deadline.left() : Seconds(0.0));
  done.arrived.insert(done.arrived.end(), done_.arrived.begin(), done_.arrived.end());
  done.sent.insert(done.sent.end(), done_.sent.begin(), done_.sent.end());
  receiving_ -= done_.arrived.size();
  sending_ -= done_.sent.size();
  done_.clear();
}

void SocketMessages::give_up() {
  connections_->forget(*this);
  done_.clear();
  sending_ = 0;
  receiving_ = 0;
}

void SocketMessages::has_sent(std::size_t id) {
  done_.sent.push_back(id);
}

void SocketMessages::has_arrived(std::size_t id, int tag) {
  done_.arrived.push_back({id, tag});
}

}  // namespace kadam
