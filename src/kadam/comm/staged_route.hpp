// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/device_event.hpp>
#include <kadam/comm/route.hpp>
#include <kadam/comm/staging_pool.hpp>
#include <kadam/execution.hpp>

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace kadam {

/// Pieces pass through the slots of a StagingPool, in parts as long as a slot.
///
/// A part that is sent waits for a free slot, is copied there when the execution space has written it, and
/// leaves when it is there; one slot serves all receivers of a piece. Slots for receiving are dealt to the
/// other ranks, and are posted for whatever comes next from that rank: its tag says which piece it is. Each
/// is free again when its part has been copied on.
///
/// No rank can hold up another for ever. A rank posts no more receives for messages from another than it
/// expects from there, and one at least while it expects any, unless all of that rank's slots are being
/// copied, which ends without anybody's help. So a part that has left is always received, and its slot comes
/// free; so each part leaves in its turn. No order of pieces is needed, and none of the ranks: what is
/// announced early by some ranks alone (gradient_ready()) leaves in any order. Slots must be for any tag for
/// that: with receives for certain pieces, those that are sent first might be those that are not posted.
class StagedRoute final : public Route {
 public:
  /// events: of those who were here before. All have to live on.
  StagedRoute(Sends sends, const ExecutionSpace& exec, int rank, int ranks, Messages& messages,
              StagingPool& pool, std::vector<DeviceEvent>& events);
  ~StagedRoute() override;

  void receive(int from, int tag, std::span<std::byte> piece, std::size_t id) override;
  void send(int to, int tag, std::span<const std::byte> piece) override;
  void start() override;
  [[nodiscard]] bool waits_for_device() const override { return !copies_.empty() || posts_later_; }
  void take(const Messages::Done& done, std::vector<std::size_t>& arrived) override;
  [[nodiscard]] std::size_t waiting() const override { return sends_.size() + copies_.size(); }

 private:
  struct Send {
    int to;
    int tag;
    std::span<const std::byte> rest;  ///< that has no slot yet
    DeviceEvent ready;
  };
  /// Of a part of a send, into a slot.
  struct Copy {
    std::size_t slot;
    int to;
    int tag;
    std::size_t bytes;
  };
  struct Expected {
    std::size_t id;
    std::span<std::byte> rest;  ///< that has not come
  };
  /// Another rank, and parts of messages from it.
  struct Source {
    int rank = 0;
    std::size_t expected = 0;
    std::size_t posted = 0;
    std::size_t taken = 0;
  };
  [[nodiscard]] std::size_t parts(std::size_t bytes) const;
  [[nodiscard]] std::size_t place_of(int rank) const;
  [[nodiscard]] std::size_t slot_of(std::size_t source, std::size_t part) const {
    return source * depth_ + part % depth_;
  }
  void post_receives(std::size_t source);
  void copy_to_slots();
  void send_copied();
  void take_arrived(std::size_t source, std::vector<std::size_t>& arrived);

  const ExecutionSpace& exec_;
  int rank_;
  int ranks_;
  Messages& messages_;
  StagingPool& pool_;
  std::vector<DeviceEvent>& events_;
  std::size_t depth_;                                     ///< slots of a source
  std::vector<Source> sources_;                           ///< all other ranks
  std::vector<std::size_t> free_;                         ///< slots for sending
  std::deque<Send> sends_;                                ///< that lack a slot
  std::deque<Copy> copies_;                               ///< that are enqueued
  bool posts_later_ = false;                              ///< a receive waits for a copy out of its slot
  std::unordered_map<std::uint64_t, Expected> expected_;  ///< by source and tag
};

}  // namespace kadam
