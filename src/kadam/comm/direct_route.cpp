// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/direct_route.hpp>

#include <utility>

namespace kadam {

DirectRoute::DirectRoute(Sends sends, const std::optional<ExecutionSpace>& exec, int rank, int ranks,
                         Messages& messages, std::vector<DeviceEvent>& events)
    : Route(std::move(sends)),
      exec_(exec),
      rank_(rank),
      ranks_(ranks),
      messages_(messages),
      events_(events),
      begun_(mark()) {}

DirectRoute::~DirectRoute() {
  for (Send& send : sends_) give_back(send.ready);
  give_back(begun_);
}

DeviceEvent DirectRoute::mark() {
  DeviceEvent event;
  if (!exec_) return event;
  if (!events_.empty()) {
    event = std::move(events_.back());
    events_.pop_back();
  }
  event.record(*exec_);
  return event;
}

void DirectRoute::give_back(DeviceEvent& event) {
  if (exec_) events_.push_back(std::move(event));
}

void DirectRoute::receive(int from, int tag, std::span<std::byte> piece, std::size_t id) {
  receives_.push_back({from, tag, piece, id});
  start();
}

void DirectRoute::send(int to, int tag, std::span<const std::byte> piece) {
  sends_.push_back({to, tag, piece, mark()});
  start();
}

void DirectRoute::start() {
  if (!receives_.empty() && begun_.is_reached()) {
    for (const auto& [from, tag, piece, id] : receives_)
      messages_.receive(from, tag, piece.data(), piece.size(), id);
    receives_.clear();
  }
  while (!sends_.empty() && sends_.front().ready.is_reached()) {
    Send& first = sends_.front();
    begin(first.to, first.tag, first.piece);
    give_back(first.ready);
    sends_.pop_front();
  }
}

void DirectRoute::begin(int to, int tag, std::span<const std::byte> piece) {
  const int receivers = to == everyone ? ranks_ - 1 : 1;
  for (int k = 1; k <= receivers; ++k) {
    const int one = to == everyone ? (rank_ + k) % ranks_ : to;
    messages_.send(one, tag, piece.data(), piece.size(), exec_ ? SendMode::standard : SendMode::synchronous,
                   0);
    tell_of_send(one, piece.size());
  }
}

void DirectRoute::take(const Messages::Done& done, std::vector<std::size_t>& arrived) {
  for (const Messages::Arrival& arrival : done.arrived) arrived.push_back(arrival.id);
}

}  // namespace kadam
