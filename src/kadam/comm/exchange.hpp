// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/comm/route.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace kadam {

/// A pair of buffers: pieces of the one are sent, pieces are received into the other.
struct ExchangeBuffers {
  std::span<const std::byte> send;
  std::span<std::byte> receive;
};

/// Pieces on their way, some of them while others are still computed: what collectives are made of.
///
/// Nothing waits for the execution space: a piece leaves when its kernels are done, which a mark tells. So
/// buffers have to outlive the exchange, and
///   what is sent       must not be written until the send is done; sending() == 0 says it of all. Kernels
///                      that write it are enqueued on exec before send() is called
///   what is received   must not be touched until it has arrived, but by kernels that were enqueued on exec
///                      before the exchange began, or before a send that comes before the answer: an owner
///                      answers when it has everybody's piece
/// Pieces between the same two ranks and of the same pair of buffers arrive in the order of their sends. At
/// most one exchange of a communicator, and of its levels, at a time; a destroyed one gives up what is under
/// way.
class Exchange {
 public:
  /// Numbers of pieces are less than this: MPI promises tags up to 32767, there are two pairs of buffers, and
  /// the last tags are left for others.
  static constexpr std::size_t most_numbers = (1U << 14U) - 1;

  /// One or two pairs of buffers. Errors: std::logic_error if the communicator has an exchange already.
  Exchange(const ExecutionSpace& exec, Communicator& communicator, Traffic traffic,
           std::span<const ExchangeBuffers> buffers);
  /// Buffers in host memory, complete when they are sent: nothing is staged, nothing waited for. For what is
  /// sent beside other exchanges, with a communicator of its own: sends are synchronous, so that sending()
  /// tells how much is in the others' way.
  Exchange(Communicator& communicator, Traffic traffic, std::span<const ExchangeBuffers> buffers);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Announces a piece. id: what arrivals will call it, 0, 1, 2, ...; each at most once.
  void receive(std::size_t pair, int from, std::size_t number, const Piece& piece, std::size_t id);
  /// The piece leaves when exec has done what is enqueued on it now. Waits for nobody.
  void send(std::size_t pair, int to, std::size_t number, const Piece& piece);
  /// The same piece to all other ranks, the next one first.
  void send_to_others(std::size_t pair, std::size_t number, const Piece& piece);

  /// The ids of the pieces that have arrived since the last call. With `wait` it returns only when something
  /// is done; if that is sends alone, there are none. Kernels on exec can read the pieces. Valid until the
  /// next call.
  [[nodiscard]] const std::vector<std::size_t>& arrivals(bool wait);
  /// Sends that are not done, begun or not.
  [[nodiscard]] std::size_t sending() const;

 private:
  Exchange(std::optional<ExecutionSpace> exec, bool staged, Communicator& communicator, Traffic traffic,
           std::span<const ExchangeBuffers> buffers);
  [[nodiscard]] std::unique_ptr<Route> make_route(bool staged);
  void count_send(int to, std::size_t bytes);
  void wait_for_device();
  struct Announced {
    int from;
    std::size_t bytes;
  };

  std::optional<ExecutionSpace> exec_;  ///< none: host memory
  Communicator& communicator_;
  Traffic traffic_;
  std::array<ExchangeBuffers, 2> buffers_;
  std::shared_ptr<ExchangeObserver> observer_;
  std::unique_ptr<Route> route_;
  std::vector<Announced> announced_;
  Messages::Done done_;
  std::vector<std::size_t> arrived_;
};

}  // namespace kadam
