// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace kadam {

/// The way of an exchange's pieces from one rank's buffer into another's: directly, or through host memory.
/// Exchange calls a Route, and the Route calls the transport's Messages.
class Route {
 public:
  /// As the receiver `to` of a send: all other ranks, the next one first.
  static constexpr int everyone = -1;

  /// Is called for each message that is given to the transport.
  using Sends = std::function<void(int to, std::size_t bytes)>;

  explicit Route(Sends sends) : sends_(std::move(sends)) {}
  Route(const Route&) = delete;
  Route& operator=(const Route&) = delete;
  /// Before it is destroyed, all messages have to be done or given up.
  virtual ~Route() = default;

  /// Announces that `piece` will be received from rank `from`; take() will report it by this id.
  virtual void receive(int from, int tag, std::span<std::byte> piece, std::size_t id) = 0;
  /// Sends the piece when the work that is enqueued on the exchange's execution space now is done: until then
  /// kernels may still write it. Does not wait.
  virtual void send(int to, int tag, std::span<const std::byte> piece) = 0;

  /// Begins the sends and receives that can begin now: those whose kernels or copies are done, and that have
  /// a free slot.
  virtual void start() = 0;
  /// Whether a send or receive of this rank can begin only after more work of the device is done. Then it
  /// does not suffice to wait for messages: none might come.
  [[nodiscard]] virtual bool waits_for_device() const = 0;
  /// Handles the messages that are done. Adds to `arrived` the ids of the pieces that kernels on the
  /// exchange's execution space can read from now on.
  virtual void take(const Messages::Done& done, std::vector<std::size_t>& arrived) = 0;
  /// The number of sends, or parts of sends, that have not begun.
  [[nodiscard]] virtual std::size_t waiting() const = 0;

 protected:
  void tell_of_send(int to, std::size_t bytes) const { sends_(to, bytes); }

 private:
  Sends sends_;
};

}  // namespace kadam
