// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <trace/exchange_events.hpp>

#include <utility>

namespace kadam::trace {
namespace {

constexpr std::array<const char*, traffic_classes> names = {
    "control",         "dense exchange",      "compressed exchange",
    "sparse exchange", "background exchange", "exchange inside the node"};

Track track_of(Traffic traffic) {
  return traffic == Traffic::background ? Track::background : Track::network;
}

}  // namespace

ExchangeEvents::ExchangeEvents(std::shared_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {}

void ExchangeEvents::exchange_begins(Traffic traffic) {
  const double now = recorder_->now();
  queue_of(track_of(traffic)) = {now, now, 0};
}

void ExchangeEvents::sends(Traffic traffic, int to, std::size_t bytes) {
  const Track track = track_of(traffic);
  queue_of(track).sent_bytes += bytes;
  recorder_->add_message(track, message_leaves, recorder_->now(), Event::at_once, to, bytes);
}

void ExchangeEvents::has_arrived(Traffic traffic, int from, std::size_t bytes) {
  const Track track = track_of(traffic);
  Queue& queue = queue_of(track);
  const double now = recorder_->now();
  recorder_->add_message(track, message_arrives, queue.last_arrival, now - queue.last_arrival, from, bytes);
  queue.last_arrival = now;
}

void ExchangeEvents::exchange_ends(Traffic traffic) {
  const Track track = track_of(traffic);
  const Queue& queue = queue_of(track);
  recorder_->add_message(track, names.at(static_cast<std::size_t>(traffic)), queue.begin,
                         recorder_->now() - queue.begin, -1, queue.sent_bytes);
}

}  // namespace kadam::trace
