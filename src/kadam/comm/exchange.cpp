// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/direct_route.hpp>
#include <kadam/comm/exchange.hpp>
#include <kadam/comm/patience.hpp>
#include <kadam/comm/staged_route.hpp>

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
    : exec_(std::move(exec)), communicator_(communicator), traffic_(traffic) {
  if (communicator.exchanges_) throw std::logic_error("kadam::Exchange: the communicator is busy");
  std::copy(buffers.begin(), buffers.end(), buffers_.begin());
  if (communicator.messages_ == nullptr) communicator.messages_ = communicator.transport_->messages();
  route_ = make_route(staged);
  communicator.exchanges_ = true;
  observer_ = *communicator.observer_;
  if (observer_) observer_->exchange_begins(traffic_);
}

Exchange::~Exchange() {
  if (observer_) observer_->exchange_ends(traffic_);
  communicator_.messages_->give_up();
  communicator_.exchanges_ = false;
}

std::unique_ptr<Route> Exchange::make_route(bool staged) {
  const int rank = communicator_.rank();
  const int ranks = communicator_.size();
  Messages& messages = *communicator_.messages_;
  const auto count = [this](int to, std::size_t bytes) { count_send(to, bytes); };
  // One rank alone has nobody to stage for.
  if (!staged || ranks == 1)
    return std::make_unique<DirectRoute>(count, exec_, rank, ranks, messages, communicator_.events_);
  communicator_.reserve_staging();
  return std::make_unique<StagedRoute>(count, *exec_, rank, ranks, messages, *communicator_.staging_,
                                       communicator_.events_);
}

void Exchange::receive(std::size_t pair, int from, std::size_t number, const Piece& piece, std::size_t id) {
  if (announced_.size() <= id) announced_.resize(id + 1);
  announced_[id] = {from, piece.bytes};
  route_->receive(from, tag_of(pair, number), buffers_[pair].receive.subspan(piece.offset_bytes, piece.bytes),
                  id);
}

void Exchange::send(std::size_t pair, int to, std::size_t number, const Piece& piece) {
  route_->send(to, tag_of(pair, number), buffers_[pair].send.subspan(piece.offset_bytes, piece.bytes));
}

void Exchange::send_to_others(std::size_t pair, std::size_t number, const Piece& piece) {
  route_->send(Route::everyone, tag_of(pair, number),
               buffers_[pair].send.subspan(piece.offset_bytes, piece.bytes));
}

void Exchange::count_send(int to, std::size_t bytes) {
  communicator_.counters_->add(traffic_, bytes);
  if (observer_) observer_->sends(traffic_, to, bytes);
}

const std::vector<std::size_t>& Exchange::arrivals(bool wait) {
  arrived_.clear();
  done_.clear();
  route_->start();
  if (wait) wait_for_device();
  if (done_.empty()) communicator_.move_messages(wait, done_);
  route_->take(done_, arrived_);
  route_->start();
  if (!observer_) return arrived_;
  for (const std::size_t id : arrived_)
    observer_->has_arrived(traffic_, announced_[id].from, announced_[id].bytes);
  return arrived_;
}

/// Asks the device and the messages in turn, until this rank waits for messages alone, or some are done.
void Exchange::wait_for_device() {
  for (const Patience patience = patience_of_program(); route_->waits_for_device(); patience()) {
    communicator_.move_messages(false, done_);
    if (!done_.empty()) return;
    if (communicator_.watched_ != nullptr) communicator_.watched_->require_peers();
    route_->start();
  }
}

std::size_t Exchange::sending() const {
  return route_->waiting() + communicator_.messages_->sending();
}

}  // namespace kadam
