// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/device_event.hpp>
#include <kadam/execution.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <vector>

namespace kadam {

/// The pinned host memory through which staged messages pass: slots of one length, half of them for sending
/// and half for receiving; and two execution space instances for the copies, so that these run beside kernels
/// and beside each other.
///
/// All ranks cut messages to the length of a slot. For every other rank there are 4 slots for sending and 4
/// for receiving: while one is copied, others travel. A slot is as long as a piece, but all slots of one
/// direction together have at most 64 MiB, or 60 KiB each if that is more: with many ranks messages are short
/// in any case. Worked number: pieces of 4 MiB: n = 2: 8 slots of 4 MiB, n = 9: 64 of 2 MiB, n = 65: 512 of
/// 256 KiB; they hold 32, 128 and 128 MiB, whatever the length of the vector is.
class StagingPool {
 public:
  using Bytes = Kokkos::View<std::byte*, Kokkos::SharedHostPinnedSpace>;
  struct Slot {
    std::byte* data = nullptr;
    DeviceEvent copied;        ///< a mark behind the copy into it, or out of it
    std::size_t uses = 0;      ///< of a slot for sending: its sends that are under way
    bool has_arrived = false;  ///< it holds a message that waits for earlier ones
    int tag = 0;               ///< of that message
  };

  /// longest_bytes: the length of a piece, or the greatest length of a message of the transport if that is
  /// less. The memory is allocated later, by allocate().
  StagingPool(int ranks, std::size_t longest_bytes);

  [[nodiscard]] std::size_t slot_bytes() const { return slot_bytes_; }
  /// The length of all slots together.
  [[nodiscard]] std::size_t bytes() const { return 2 * slots_ * slot_bytes_; }
  /// Allocates the slots, unless that is done.
  void allocate();
  /// All of the memory, for a caller that uses it alone: between exchanges.
  [[nodiscard]] const Bytes& memory() const { return memory_; }

  /// The slots for sending, and as many for receiving; none before allocate().
  [[nodiscard]] std::vector<Slot>& sends() { return sends_; }
  [[nodiscard]] std::vector<Slot>& receives() { return receives_; }

  /// The instances on which copies to the host, and to the device, are enqueued. Where kernels run on the
  /// host, this is exec itself: copies are done when they are launched.
  [[nodiscard]] const ExecutionSpace& to_host(const ExecutionSpace& exec) const;
  [[nodiscard]] const ExecutionSpace& to_device(const ExecutionSpace& exec) const;

 private:
  static constexpr std::size_t depth = 4;
  static constexpr std::size_t most_bytes_each_way = std::size_t{64} << 20;
  static constexpr std::size_t least_slot_bytes = std::size_t{60} << 10;

  std::size_t slots_;
  std::size_t slot_bytes_;
  Bytes memory_;
  std::vector<Slot> sends_;
  std::vector<Slot> receives_;
  std::vector<ExecutionSpace> instances_;
};

}  // namespace kadam
