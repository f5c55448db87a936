// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/copy_bytes.hpp>
#include <kadam/comm/staged_route.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

using PinnedSpace = Kokkos::SharedHostPinnedSpace;

std::uint64_t key_of(std::size_t source, int tag) {
  return (static_cast<std::uint64_t>(source) << 32U) + static_cast<std::uint64_t>(tag);
}

DeviceEvent one_of(std::vector<DeviceEvent>& events) {
  DeviceEvent event;
  if (events.empty()) return event;
  event = std::move(events.back());
  events.pop_back();
  return event;
}

}  // namespace

StagedRoute::StagedRoute(Sends sends, const ExecutionSpace& exec, int rank, int ranks, Messages& messages,
                         StagingPool& pool, std::vector<DeviceEvent>& events)
    : Route(std::move(sends)),
      exec_(exec),
      rank_(rank),
      ranks_(ranks),
      messages_(messages),
      pool_(pool),
      events_(events),
      depth_(pool.receives().size() / static_cast<std::size_t>(ranks - 1)),
      sources_(static_cast<std::size_t>(ranks - 1)) {
  for (std::size_t k = 0; k < sources_.size(); ++k)
    sources_[k].rank = static_cast<int>(k) < rank ? static_cast<int>(k) : static_cast<int>(k) + 1;
  // An exchange that was given up may have left its marks.
  for (StagingPool::Slot& slot : pool.receives()) slot.has_arrived = false;
  for (std::size_t k = 0; k < pool.sends().size(); ++k) {
    pool.sends()[k].uses = 0;
    free_.push_back(k);
  }
  // Kernels of an earlier exchange may still read the buffers into which pieces will be copied.
  DeviceEvent begun = one_of(events_);
  begun.record(exec);
  begun.hold_back(pool.to_device(exec));
  events_.push_back(std::move(begun));
}

StagedRoute::~StagedRoute() {
  // The exchange is given up: the source of a copy must stay until the copy is done.
  if (!copies_.empty()) pool_.to_host(exec_).fence("kadam::Exchange: pieces that are given up");
  for (Send& send : sends_) events_.push_back(std::move(send.ready));
}

std::size_t StagedRoute::parts(std::size_t bytes) const {
  return std::max<std::size_t>(1, (bytes + pool_.slot_bytes() - 1) / pool_.slot_bytes());
}

std::size_t StagedRoute::place_of(int rank) const {
  return static_cast<std::size_t>(rank < rank_ ? rank : rank - 1);
}

void StagedRoute::receive(int from, int tag, std::span<std::byte> piece, std::size_t id) {
  const std::size_t source = place_of(from);
  expected_.insert_or_assign(key_of(source, tag), Expected{id, piece});
  sources_[source].expected += parts(piece.size());
  post_receives(source);
}

void StagedRoute::send(int to, int tag, std::span<const std::byte> piece) {
  DeviceEvent ready = one_of(events_);
  ready.record(exec_);
  sends_.push_back({to, tag, piece, std::move(ready)});
  start();
}

void StagedRoute::start() {
  posts_later_ = false;
  for (std::size_t k = 0; k < sources_.size(); ++k) post_receives(k);
  copy_to_slots();
  send_copied();
}

void StagedRoute::post_receives(std::size_t source) {
  Source& from = sources_[source];
  while (from.posted < from.expected && from.posted - from.taken < depth_) {
    const std::size_t place = slot_of(source, from.posted);
    StagingPool::Slot& slot = pool_.receives()[place];
    if (!slot.copied.is_reached()) {
      posts_later_ = true;
      return;
    }
    messages_.receive_any(from.rank, slot.data, pool_.slot_bytes(), place);
    ++from.posted;
  }
}

void StagedRoute::copy_to_slots() {
  const ExecutionSpace& copies = pool_.to_host(exec_);
  while (!sends_.empty() && !free_.empty()) {
    Send& first = sends_.front();
    first.ready.hold_back(copies);
    const std::size_t bytes = std::min(first.rest.size(), pool_.slot_bytes());
    StagingPool::Slot& slot = pool_.sends()[free_.back()];
    detail::copy_bytes<PinnedSpace, MemorySpace>(copies, slot.data, first.rest.data(), bytes);
    slot.copied.record(copies);
    copies_.push_back({free_.back(), first.to, first.tag, bytes});
    free_.pop_back();
    first.rest = first.rest.subspan(bytes);
    if (!first.rest.empty()) continue;
    events_.push_back(std::move(first.ready));
    sends_.pop_front();
  }
}

void StagedRoute::send_copied() {
  while (!copies_.empty()) {
    const Copy copy = copies_.front();
    StagingPool::Slot& slot = pool_.sends()[copy.slot];
    if (!slot.copied.is_reached()) return;
    copies_.pop_front();
    const int receivers = copy.to == everyone ? ranks_ - 1 : 1;
    slot.uses = static_cast<std::size_t>(receivers);
    for (int k = 1; k <= receivers; ++k) {
      const int to = copy.to == everyone ? (rank_ + k) % ranks_ : copy.to;
      messages_.send(to, copy.tag, slot.data, copy.bytes, SendMode::standard, copy.slot);
      tell_of_send(to, copy.bytes);
    }
  }
}

void StagedRoute::take(const Messages::Done& done, std::vector<std::size_t>& arrived) {
  for (const std::size_t slot : done.sent) {
    if (--pool_.sends()[slot].uses == 0) free_.push_back(slot);
  }
  for (const Messages::Arrival& arrival : done.arrived) {
    StagingPool::Slot& slot = pool_.receives()[arrival.id];
    slot.has_arrived = true;
    slot.tag = arrival.tag;
  }
  // Takes them in the order in which they were sent: the parts of a piece have the same tag.
  for (const Messages::Arrival& arrival : done.arrived) take_arrived(arrival.id / depth_, arrived);
}

/// Copies the parts that have arrived to their places. Kernels on exec wait for the copies, the host does
/// not.
void StagedRoute::take_arrived(std::size_t source, std::vector<std::size_t>& arrived) {
  Source& from = sources_[source];
  const ExecutionSpace& copies = pool_.to_device(exec_);
  while (from.taken < from.posted) {
    StagingPool::Slot& slot = pool_.receives()[slot_of(source, from.taken)];
    if (!slot.has_arrived) return;
    slot.has_arrived = false;
    ++from.taken;
    const auto found = expected_.find(key_of(source, slot.tag));
    if (found == expected_.end()) throw std::logic_error("kadam::Exchange: an unannounced piece has arrived");
    auto& [id, rest] = found->second;
    const std::size_t bytes = std::min(rest.size(), pool_.slot_bytes());
    detail::copy_bytes<MemorySpace, PinnedSpace>(copies, rest.data(), slot.data, bytes);
    slot.copied.record(copies);
    rest = rest.subspan(bytes);
    if (!rest.empty()) continue;
    slot.copied.hold_back(exec_);
    arrived.push_back(id);
    expected_.erase(found);
  }
}

}  // namespace kadam
