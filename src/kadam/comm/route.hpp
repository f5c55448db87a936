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

/// How the pieces of an exchange get from one rank's buffer into another's: straight, or through host memory.
/// An Exchange asks it; it asks the transport's Messages.
class Route {
 public:
  /// To all other ranks, the next one first.
  static constexpr int everyone = -1;

  /// Called with what is given to the transport.
  using Sends = std::function<void(int to, std::size_t bytes)>;

  explicit Route(Sends sends) : sends_(std::move(sends)) {}
  Route(const Route&) = delete;
  Route& operator=(const Route&) = delete;
  /// Messages have been given up, or are done.
  virtual ~Route() = default;

  virtual void receive(int from, int tag, std::span<std::byte> piece, std::size_t id) = 0;
  /// What is enqueued on the exchange's execution space now may still write the piece. Waits for nobody.
  virtual void send(int to, int tag, std::span<const std::byte> piece) = 0;

  /// Begins what the device, or memory that has become free, allows.
  virtual void start() = 0;
  /// Whether something of this rank can begin only when the device has got further: messages alone would not
  /// wake who waits for them.
  [[nodiscard]] virtual bool waits_for_device() const = 0;
  /// Takes what messages are done. Appends the ids of the pieces that kernels on the exchange's execution
  /// space can read now.
  virtual void take(const Messages::Done& done, std::vector<std::size_t>& arrived) = 0;
  /// Sends that have not begun.
  [[nodiscard]] virtual std::size_t waiting() const = 0;

 protected:
  void tell_of_send(int to, std::size_t bytes) const { sends_(to, bytes); }

 private:
  Sends sends_;
};

}  // namespace kadam
