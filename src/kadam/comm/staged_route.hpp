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

/// The route through host memory: pieces pass through the slots of a StagingPool, in parts as long as a slot.
///
/// A part that is sent waits for a free slot, is copied there when the execution space has written it, and
/// leaves when the copy is done; a part for several receivers needs only one slot. The slots for receiving
/// are divided among the other ranks. Each is posted for the next message of its rank, whatever that is: the
/// tag tells to which piece it belongs. It is free again when the part has been copied to its place.
///
/// No rank can hold up another for ever. A rank posts no more receives for messages of another rank than it
/// expects from there. It has at least one posted while it expects any, unless all slots of that rank are
/// being copied, which ends without anybody's help. So a part that has left is always received, and its slot
/// becomes free; so each part leaves in its turn. This needs no order of pieces or of ranks: pieces that some
/// ranks announce early (gradient_ready()) leave in any order. That is why slots must take any tag: if
/// receives were posted for certain pieces, they might not be those that are sent first.
class StagedRoute final : public Route {
 public:
  /// events: marks of earlier exchanges, to be used again; they go back there. exec, messages, pool and
  /// events have to outlive the route.
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
    std::span<const std::byte> rest;  ///< the bytes that have no slot yet
    DeviceEvent ready;
  };
  /// A copy of a part of a send into a slot.
  struct Copy {
    std::size_t slot;
    int to;
    int tag;
    std::size_t bytes;
  };
  struct Expected {
    std::size_t id;
    std::span<std::byte> rest;  ///< the place of the bytes that have not come
  };
  /// Another rank, and the numbers of parts of its messages since the exchange began.
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
  std::deque<Send> sends_;                                ///< those that lack a slot
  std::deque<Copy> copies_;                               ///< into slots, enqueued and not yet sent
  bool posts_later_ = false;                              ///< a receive waits for a copy out of its slot
  std::unordered_map<std::uint64_t, Expected> expected_;  ///< by source and tag
};

}  // namespace kadam
