// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>
#include <kadam/execution.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam {

/// What bytes are sent for.
enum class Traffic : std::uint8_t { control, dense, compressed, sparse, background };
inline constexpr std::size_t traffic_classes = 5;

/// Bytes that this rank sent to other ranks, per class of traffic. Its own pieces do not count.
class ByteCounters {
 public:
  [[nodiscard]] std::size_t sent(Traffic traffic) const { return sent_[static_cast<std::size_t>(traffic)]; }
  [[nodiscard]] std::size_t total() const;
  void add(Traffic traffic, std::size_t bytes) { sent_[static_cast<std::size_t>(traffic)] += bytes; }

 private:
  std::array<std::size_t, traffic_classes> sent_{};
};

/// Another rank failed where all had to succeed; the reason is in that rank's own exception.
class PeerFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether messages pass through (pinned) host memory on their way: if the transport says that it takes no
/// device memory; always (which works on a CPU too: a test of that path); never, for a transport that does
/// not tell what it can.
enum class Staging : std::uint8_t { automatic, always, never };

struct ExchangeOptions {
  Staging staging = Staging::automatic;
  /// Messages are cut into pieces of about this length, so that one is encoded or decoded while others
  /// travel. The same on all ranks. docs/performance.md has the measurements behind the default, which stays
  /// below the 64 KiB from which TCP transports of MPI ask before they send.
  std::size_t piece_bytes = std::size_t{60} << 10;
};

/// The bytes of a View's elements, wherever they live.
template <class View>
[[nodiscard]] auto bytes_of(const View& view) {
  using Byte = std::conditional_t<std::is_const_v<typename View::value_type>, const std::byte, std::byte>;
  return std::span<Byte>(reinterpret_cast<Byte*>(view.data()),
                         view.size() * sizeof(typename View::value_type));
}

/// The one place that fences, stages through the host, counts bytes and moves them.
///
/// Collective: every exchange, by all ranks of the transport, in the same order.
class Communicator {
 public:
  explicit Communicator(std::unique_ptr<Transport> transport, const ExchangeOptions& options = {});

  /// A communicator of one rank.
  [[nodiscard]] static std::shared_ptr<Communicator> self();

  [[nodiscard]] int rank() const { return transport_->rank(); }
  [[nodiscard]] int size() const { return transport_->size(); }
  [[nodiscard]] bool stages_through_host() const { return staged_; }
  [[nodiscard]] std::size_t piece_bytes() const { return options_.piece_bytes; }
  [[nodiscard]] std::string description() const;
  [[nodiscard]] const ByteCounters& bytes_sent() const { return counters_; }

  /// The same ranks, those of one colour in the order of their ranks, those that share this rank's memory:
  /// each with options as these, and byte counters of their own. Collective.
  [[nodiscard]] std::shared_ptr<Communicator> duplicate();
  [[nodiscard]] std::shared_ptr<Communicator> split(int colour);
  [[nodiscard]] std::shared_ptr<Communicator> split_by_node();
  /// Adds what another communicator sent for this one.
  void count_sent(Traffic traffic, std::size_t bytes) { counters_.add(traffic, bytes); }
  /// Whether threads may exchange at the same time, each over a duplicate of its own.
  [[nodiscard]] bool allows_threads() const { return transport_->allows_threads(); }
  /// Whether an exchange is under way. May be asked by other threads.
  [[nodiscard]] bool is_exchanging() const { return exchanges_; }

  /// Makes room for staging exchanges of up to so many bytes now, so that none allocates when it comes. For
  /// exchanges larger than that of the first step.
  void reserve_staging(std::size_t lane, std::size_t send_bytes, std::size_t receive_bytes);

  /// Piece r of send goes to rank r, piece r of receive comes from there. Waits for exec, returns when done.
  /// Wire: the sum of the send pieces but the own one.
  void all_to_all(const ExecutionSpace& exec, Traffic traffic, std::span<const std::byte> send,
                  std::span<const Piece> send_pieces, std::span<std::byte> receive,
                  std::span<const Piece> receive_pieces);

  /// Piece r of buffer comes from rank r; the own piece lies there already. Waits for exec, returns when
  /// done. Wire: (n - 1) times the own piece.
  void all_gather(const ExecutionSpace& exec, Traffic traffic, std::span<std::byte> buffer,
                  std::span<const Piece> pieces);

  /// MPI's own all-reduce: the plain baseline. The result may differ from rank to rank in the last bit, and
  /// from run to run; the algorithms use DenseMean instead. Wire: counted as a ring's 2 (n - 1)/n of the
  /// bytes.
  void all_reduce_sum(const ExecutionSpace& exec, const Vector<float>& values);

  /// The same values of every rank, [rank][value]. Wire: (n - 1) 8 B per value.
  [[nodiscard]] std::vector<double> all_gather_values(std::span<const double> values);

  /// Throws on every rank unless own is null on all: the own exception where there is one, PeerFailure
  /// elsewhere. What one rank alone found wrong then ends in words on all, not in a hang. Collective.
  void require_success(const std::exception_ptr& own);

  /// Throws on every rank unless all ranks give the same; the message names what differs and on which rank.
  void require_equal(std::span<const std::string> names, std::span<const std::uint64_t> values);

 private:
  friend class Exchange;
  using HostBytes = Kokkos::View<std::byte*, Kokkos::SharedHostPinnedSpace>;
  /// Host memory of one lane of an exchange, if it is staged.
  struct StagedLane {
    HostBytes send;
    HostBytes receive;
  };
  static std::byte* host_buffer(HostBytes& buffer, std::size_t bytes, const std::string& label);

  std::unique_ptr<Transport> transport_;
  ExchangeOptions options_;
  bool staged_ = false;
  ByteCounters counters_;
  std::unique_ptr<Messages> messages_;
  std::array<StagedLane, 2> lanes_;
  std::atomic<bool> exchanges_ = false;  ///< an Exchange is at work
};

}  // namespace kadam
