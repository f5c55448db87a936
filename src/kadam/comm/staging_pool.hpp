// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/device_event.hpp>
#include <kadam/execution.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <vector>

namespace kadam {

/// The pinned host memory that staged messages pass through: slots of one length, half of them for what is
/// sent and half for what is received, and two instances for the copies, so that these run beside kernels and
/// beside each other.
///
/// Messages are cut to the length of a slot, on all ranks alike. There are 4 slots each way for every other
/// rank: one is copied and others travel. Slots are as long as pieces, but together no longer each way than
/// 64 MiB: with many ranks messages are short in any case. Worked number: pieces of 4 MiB: n = 2: 8 slots of
/// 4 MiB, n = 9: 64 of 2 MiB, n = 65: 512 of 256 KiB; they hold 32, 128 and 128 MiB, whatever the length of
/// the vector is.
class StagingPool {
 public:
  using Bytes = Kokkos::View<std::byte*, Kokkos::SharedHostPinnedSpace>;
  struct Slot {
    std::byte* data = nullptr;
    DeviceEvent copied;        ///< the copy into it, or out of it
    std::size_t uses = 0;      ///< sends under way from it
    bool has_arrived = false;  ///< a message, which waits for those before it
    int tag = 0;               ///< of that
  };

  /// longest_bytes: of a piece, and of a message of the transport.
  StagingPool(int ranks, std::size_t longest_bytes);

  [[nodiscard]] std::size_t slot_bytes() const { return slot_bytes_; }
  /// Of all slots.
  [[nodiscard]] std::size_t bytes() const { return 2 * slots_ * slot_bytes_; }
  /// Makes the slots, unless they are there.
  void allocate();
  /// All of it, for who has it for himself.
  [[nodiscard]] const Bytes& memory() const { return memory_; }

  /// Slots for sending, and as many for receiving.
  [[nodiscard]] std::vector<Slot>& sends() { return sends_; }
  [[nodiscard]] std::vector<Slot>& receives() { return receives_; }

  /// Where copies to the host, and to the device, are enqueued. Where kernels run on the host, exec itself:
  /// copies are done when they are launched.
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
