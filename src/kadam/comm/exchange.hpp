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

/// A pair of buffers: pieces of `send` are sent, and pieces are received into `receive`.
struct ExchangeBuffers {
  std::span<const std::byte> send;
  std::span<std::byte> receive;
};

/// Moves pieces between ranks, some of them while others are still computed: collectives are made of it.
///
/// Nothing waits for the execution space: a piece leaves when the kernels that write it are done, which a
/// mark tells. So the buffers have to outlive the exchange, and
///   a piece that is sent      must not be written until the send is done; sending() == 0 says this of all
///                             sends. The kernels that write it are enqueued on exec before send() is called
///   a piece that is received  must not be touched until it has arrived. Exceptions are kernels that were
///                             enqueued on exec before the exchange began, or before the send of which the
///                             piece is the answer: an owner answers when it has the pieces of all ranks
/// Pieces between the same two ranks and of the same pair of buffers arrive in the order of their sends. A
/// communicator and its levels have at most one exchange at a time. An exchange that is destroyed gives up
/// the messages that are under way.
class Exchange {
 public:
  /// The number of a piece is less than this: MPI promises tags up to 32767, and there are two pairs of
  /// buffers.
  static constexpr std::size_t most_numbers = (1U << 14U) - 1;

  /// buffers: one or two pairs. Errors: std::logic_error if this very communicator has an exchange already.
  Exchange(const ExecutionSpace& exec, Communicator& communicator, Traffic traffic,
           std::span<const ExchangeBuffers> buffers);
  /// An exchange of buffers in host memory, which are complete when they are sent: it stages nothing, and
  /// waits for no kernels. It is for a communicator that exchanges beside others: its sends are synchronous,
  /// so that sending() tells how many of its messages are in the way of the others'.
  Exchange(Communicator& communicator, Traffic traffic, std::span<const ExchangeBuffers> buffers);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Announces that the piece with this number comes from rank `from` into the place `piece` of the pair's
  /// receive buffer. pair: 0 or 1. id: the number by which arrivals() will report the piece, each at most
  /// once; numbers from 0 on, because a table is as long as the largest.
  void receive(std::size_t pair, int from, std::size_t number, const Piece& piece, std::size_t id);
  /// Sends the place `piece` of the pair's send buffer to rank `to`; the receiver announces the same pair and
  /// number. The piece leaves when exec has done the work that is enqueued on it now. Does not wait.
  void send(std::size_t pair, int to, std::size_t number, const Piece& piece);
  /// Sends the same piece to all other ranks, the next one first.
  void send_to_others(std::size_t pair, std::size_t number, const Piece& piece);

  /// Returns the ids of the pieces that have arrived since the last call; kernels on exec can read them. With
  /// `wait` it returns only when a send or a receive is done, or if nothing is under way; there are no ids if
  /// only sends, or parts of staged pieces, are done. The reference is valid until the next call. Errors:
  /// PeerFailure if it has waited for Communicator::patience() in vain.
  [[nodiscard]] const std::vector<std::size_t>& arrivals(bool wait);
  /// The number of sends that are not done, whether they have begun or not.
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
