// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/exchange.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

int tag_of(std::size_t pair, std::size_t number) {
  return static_cast<int>(pair * Exchange::most_numbers + number);
}

}  // namespace

Exchange::Exchange(const ExecutionSpace& exec, Communicator& communicator, Traffic traffic,
                   std::span<const ExchangeBuffers> buffers)
    : Exchange(exec, communicator.staged_, communicator, traffic, buffers) {}

Exchange::Exchange(Communicator& communicator, Traffic traffic, std::span<const ExchangeBuffers> buffers)
    : Exchange(std::nullopt, false, communicator, traffic, buffers) {}

Exchange::Exchange(std::optional<ExecutionSpace> exec, bool staged, Communicator& communicator,
                   Traffic traffic, std::span<const ExchangeBuffers> buffers)
    : exec_(std::move(exec)), communicator_(communicator), staged_(staged), traffic_(traffic) {
  if (communicator.exchanges_) throw std::logic_error("kadam::Exchange: the communicator is busy");
  std::copy(buffers.begin(), buffers.end(), buffers_.begin());
  for (std::size_t k = 0; k < buffers.size(); ++k) {
    places_[k] = {buffers_[k].send.data(), buffers_[k].receive.data()};
    if (!staged) continue;
    auto& [send, receive] = communicator.host_buffers_[k];
    places_[k].send = Communicator::host_buffer(send, buffers_[k].send.size(), "kadam::Exchange::send");
    places_[k].receive =
        Communicator::host_buffer(receive, buffers_[k].receive.size(), "kadam::Exchange::receive");
  }
  if (communicator.messages_ == nullptr) communicator.messages_ = communicator.transport_->messages();
  communicator.exchanges_ = true;
  observer_ = *communicator.observer_;
  if (observer_) observer_->exchange_begins(traffic_);
}

Exchange::~Exchange() {
  if (observer_) observer_->exchange_ends(traffic_);
  communicator_.messages_->give_up();
  // The next exchange receives into the same host memory.
  if (staged_) exec_->fence("kadam::Exchange: host memory is read");
  communicator_.exchanges_ = false;
}

void Exchange::receive(std::size_t pair, int from, std::size_t number, const Piece& piece, std::size_t id) {
  if (announced_.size() <= id) announced_.resize(id + 1);
  announced_[id] = {pair, from, piece};
  communicator_.messages_->receive(from, tag_of(pair, number), places_[pair].receive + piece.offset_bytes,
                                   piece.bytes, id);
}

void Exchange::send(std::size_t pair, int to, std::size_t number, const Piece& piece) {
  make_ready(pair, piece);
  start_send(pair, to, number, piece);
}

void Exchange::send_to_others(std::size_t pair, std::size_t number, const Piece& piece) {
  make_ready(pair, piece);
  const int ranks = communicator_.size();
  for (int k = 1; k < ranks; ++k) start_send(pair, (communicator_.rank() + k) % ranks, number, piece);
}

void Exchange::make_ready(std::size_t pair, const Piece& piece) {
  if (staged_) {
    auto& host = communicator_.host_buffers_[pair].send;
    detail::copy_bytes<Kokkos::SharedHostPinnedSpace, MemorySpace>(
        *exec_, host.data() + piece.offset_bytes, buffers_[pair].send.data() + piece.offset_bytes,
        piece.bytes);
  }
  if (exec_) exec_->fence("kadam::Exchange::send");
}

void Exchange::start_send(std::size_t pair, int to, std::size_t number, const Piece& piece) {
  communicator_.messages_->send(to, tag_of(pair, number), places_[pair].send + piece.offset_bytes,
                                piece.bytes, exec_ ? SendMode::standard : SendMode::synchronous);
  communicator_.counters_->add(traffic_, piece.bytes);
  if (observer_) observer_->sends(traffic_, to, piece.bytes);
}

const std::vector<std::size_t>& Exchange::arrivals(bool wait) {
  arrived_.clear();
  communicator_.messages_->progress(wait, arrived_);
  for (const std::size_t id : arrived_) {
    const auto& [pair, from, piece] = announced_[id];
    if (observer_) observer_->has_arrived(traffic_, from, piece.bytes);
    if (staged_) {
      detail::copy_bytes<MemorySpace, Kokkos::SharedHostPinnedSpace>(
          *exec_, buffers_[pair].receive.data() + piece.offset_bytes,
          places_[pair].receive + piece.offset_bytes, piece.bytes);
    }
  }
  return arrived_;
}

std::size_t Exchange::sending() const {
  return communicator_.messages_->sending();
}

}  // namespace kadam
