// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

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
/// The buffers have to outlive the exchange. What is sent must not be written, what is received not be
/// touched until it is done. Pieces between the same two ranks and of the same pair of buffers arrive in the
/// order of their sends. At most one exchange of a communicator at a time; a destroyed one gives up what is
/// under way.
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
  /// Waits for exec, which may still write the piece.
  void send(std::size_t pair, int to, std::size_t number, const Piece& piece);
  /// The same piece to all other ranks, the next one first.
  void send_to_others(std::size_t pair, std::size_t number, const Piece& piece);

  /// The ids of the pieces that have arrived since the last call. With `wait` it returns only when something
  /// is done; if that is sends alone, there are none. Kernels on exec can read the pieces. Valid until the
  /// next call.
  [[nodiscard]] const std::vector<std::size_t>& arrivals(bool wait);
  /// Sends that are not done.
  [[nodiscard]] std::size_t sending() const;

 private:
  Exchange(std::optional<ExecutionSpace> exec, bool staged, Communicator& communicator, Traffic traffic,
           std::span<const ExchangeBuffers> buffers);
  void make_ready(std::size_t pair, const Piece& piece);
  void start_send(std::size_t pair, int to, std::size_t number, const Piece& piece);
  struct Announced {
    std::size_t pair;
    int from;
    Piece piece;
  };
  struct Place {
    const std::byte* send = nullptr;
    std::byte* receive = nullptr;
  };

  std::optional<ExecutionSpace> exec_;  ///< none: host memory
  Communicator& communicator_;
  bool staged_;
  Traffic traffic_;
  std::array<ExchangeBuffers, 2> buffers_;
  std::array<Place, 2> places_;  ///< what the transport sees: the buffers, or host memory for them
  std::shared_ptr<ExchangeObserver> observer_;
  std::vector<Announced> announced_;
  std::vector<std::size_t> arrived_;
};

namespace detail {

/// Copies bytes between memory spaces; enqueued on exec.
template <class To, class From>
void copy_bytes(const ExecutionSpace& exec, std::byte* to, const std::byte* from, std::size_t bytes) {
  using Target = Kokkos::View<std::byte*, To, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Source = Kokkos::View<const std::byte*, From, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(exec, Target(to, bytes), Source(from, bytes));
}

}  // namespace detail
}  // namespace kadam
