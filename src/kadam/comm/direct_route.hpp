// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/device_event.hpp>
#include <kadam/comm/route.hpp>
#include <kadam/execution.hpp>

#include <deque>
#include <optional>
#include <vector>

namespace kadam {

/// The route without staging: the transport reads and writes the buffers of the exchange themselves.
///
/// A send begins when the execution space has done the work that was enqueued on it at the call of send().
/// Sends begin in the order of these calls. Receives are announced to the transport when the space has done
/// the work that was enqueued on it when the route was made: until then kernels of an earlier exchange may
/// read the same buffer, while other ranks are ahead and send already. Kernels that are enqueued later need
/// no such care: what would overwrite their buffer is an answer to a piece of this rank, which leaves after
/// these kernels.
class DirectRoute final : public Route {
 public:
  /// exec: none if the buffers are complete when they are sent, as in host memory; sends are synchronous
  /// then. events: marks of earlier exchanges, to be used again; they go back there. exec, messages and
  /// events have to outlive the route.
  DirectRoute(Sends sends, const std::optional<ExecutionSpace>& exec, int rank, int ranks, Messages& messages,
              std::vector<DeviceEvent>& events);
  ~DirectRoute() override;

  void receive(int from, int tag, std::span<std::byte> piece, std::size_t id) override;
  void send(int to, int tag, std::span<const std::byte> piece) override;
  void start() override;
  [[nodiscard]] bool waits_for_device() const override { return !sends_.empty() || !receives_.empty(); }
  void take(const Messages::Done& done, std::vector<std::size_t>& arrived) override;
  [[nodiscard]] std::size_t waiting() const override { return sends_.size(); }

 private:
  struct Send {
    int to;
    int tag;
    std::span<const std::byte> piece;
    DeviceEvent ready;
  };
  struct Receive {
    int from;
    int tag;
    std::span<std::byte> piece;
    std::size_t id;
  };
  [[nodiscard]] DeviceEvent mark();
  void give_back(DeviceEvent& event);
  void begin(int to, int tag, std::span<const std::byte> piece);

  const std::optional<ExecutionSpace>& exec_;
  int rank_;
  int ranks_;
  Messages& messages_;
  std::vector<DeviceEvent>& events_;
  DeviceEvent begun_;
  std::deque<Send> sends_;         ///< those that have not begun
  std::vector<Receive> receives_;  ///< those that are not announced yet
};

}  // namespace kadam
