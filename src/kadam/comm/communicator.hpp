// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/device_event.hpp>
#include <kadam/comm/node_collectives.hpp>
#include <kadam/comm/staging_pool.hpp>
#include <kadam/comm/transport.hpp>
#include <kadam/cost/cost.hpp>
#include <kadam/execution.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kadam {

/// Bytes that this rank sent to other ranks, per class of traffic. Its own pieces do not count.
class ByteCounters {
 public:
  [[nodiscard]] std::size_t sent(Traffic traffic) const { return sent_[static_cast<std::size_t>(traffic)]; }
  [[nodiscard]] std::size_t total() const;
  /// Without what two levels keep inside a node.
  [[nodiscard]] std::size_t between_nodes() const { return total() - sent(Traffic::node); }
  void add(Traffic traffic, std::size_t bytes) { sent_[static_cast<std::size_t>(traffic)] += bytes; }

 private:
  std::array<std::size_t, traffic_classes> sent_{};
};

/// Told of exchanges as they happen: what a timeline is drawn from.
///
/// Calls come from whichever thread exchanges: that of a background exchange calls at any time. They are on
/// the way of every message, and must be short.
class ExchangeObserver {
 public:
  ExchangeObserver() = default;
  ExchangeObserver(const ExchangeObserver&) = delete;
  ExchangeObserver& operator=(const ExchangeObserver&) = delete;
  virtual ~ExchangeObserver() = default;

  virtual void exchange_begins(Traffic traffic) = 0;
  /// A message is given to the transport.
  virtual void sends(Traffic traffic, int to, std::size_t bytes) = 0;
  virtual void has_arrived(Traffic traffic, int from, std::size_t bytes) = 0;
  virtual void exchange_ends(Traffic traffic) = 0;
};

/// An MPI call that did not return MPI_SUCCESS; what() names the call and gives MPI's own text.
class MpiError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Another rank failed where all had to succeed, and the reason is in that rank's own exception; or nothing
/// has come from it in ExchangeOptions::timeout_seconds.
class PeerFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether messages pass through (pinned) host memory on their way: if the transport says that it takes no
/// device memory; always (which works on a CPU too: a test of that path); never, for a transport that does
/// not tell what it can.
enum class Staging : std::uint8_t { automatic, always, never };

/// What people say of whether MPI takes device memory: "auto", "on" (never stage) or "off" (always). Nothing
/// for another word.
[[nodiscard]] inline std::optional<Staging> staging_from(std::string_view gpu_aware) {
  if (gpu_aware == "auto") return Staging::automatic;
  if (gpu_aware == "on") return Staging::never;
  if (gpu_aware == "off") return Staging::always;
  return std::nullopt;
}

/// The length of pieces where nobody gives one. In host memory 60 KiB: below the 64 KiB from which TCP
/// transports of MPI ask before they send; docs/performance.md has the measurements. Where kernels run on a
/// device 4 MiB, whether messages are staged or not: every piece costs launches of kernels, a copy and a
/// message, 10 to 50 microseconds together, in which fast links carry a megabyte; and a kernel for 60 KiB
/// leaves most of a device idle.
[[nodiscard]] constexpr std::size_t automatic_piece_bytes(bool on_host = kernels_run_on_host) {
  return on_host ? std::size_t{60} << 10U : std::size_t{4} << 20U;
}

struct ExchangeOptions {
  Staging staging = Staging::automatic;
  /// Messages are cut into pieces of about this length, so that one is encoded or decoded while others
  /// travel. The same on all ranks. 0: automatic_piece_bytes().
  std::size_t piece_bytes = 0;
  /// How long a rank waits for others while nothing comes or leaves, before it throws PeerFailure. 0: for
  /// ever. What a rank does between two exchanges may take as long.
  double timeout_seconds = 1800.0;
};

/// A value of which a rank has another than rank 0.
struct Difference {
  int rank = 0;
  std::size_t value = 0;  ///< its place among those compared
  std::uint64_t of_first = 0;
  std::uint64_t of_rank = 0;
};

/// The bytes of a View's elements, wherever they live.
template <class View>
[[nodiscard]] auto bytes_of(const View& view) {
  using Byte = std::conditional_t<std::is_const_v<typename View::value_type>, const std::byte, std::byte>;
  return std::span<Byte>(reinterpret_cast<Byte*>(view.data()),
                         view.size() * sizeof(typename View::value_type));
}

/// The one place that waits for kernels, stages through the host, counts bytes and moves them.
///
/// Collective: every exchange, by all ranks of the transport, in the same order. Errors: MpiError where MPI
/// refuses a call; PeerFailure, naming ranks, where they are waited for in vain. Then nothing can be
/// exchanged any more.
class Communicator {
 public:
  explicit Communicator(std::unique_ptr<Transport> transport, const ExchangeOptions& options = {});

  /// A communicator of one rank.
  [[nodiscard]] static std::shared_ptr<Communicator> self();

  [[nodiscard]] int rank() const { return transport_->rank(); }
  [[nodiscard]] int size() const { return transport_->size(); }
  [[nodiscard]] bool stages_through_host() const { return staged_; }
  [[nodiscard]] std::size_t piece_bytes() const { return piece_bytes(kernels_run_on_host); }
  /// The same for vectors that lie in host memory whatever there is: background exchanges.
  [[nodiscard]] std::size_t piece_bytes(bool on_host) const {
    return options_.piece_bytes > 0 ? options_.piece_bytes : automatic_piece_bytes(on_host);
  }
  [[nodiscard]] std::string description() const;
  [[nodiscard]] const ByteCounters& bytes_sent() const { return *counters_; }

  /// The same ranks again. Like the two below: options as these, byte counters of its own. Collective.
  [[nodiscard]] std::shared_ptr<Communicator> duplicate();
  /// The ranks that give the same colour, in the order of their ranks here. Collective.
  [[nodiscard]] std::shared_ptr<Communicator> split(int colour);
  /// The ranks that share this rank's memory. Collective.
  [[nodiscard]] std::shared_ptr<Communicator> split_by_node();
  /// Whether survivors() works: over TCP, and over an MPI that tolerates faults and was started so (Open MPI
  /// 5: mpirun --with-ft ulfm).
  [[nodiscard]] bool survives_failures() const { return transport_->survives_failures(); }
  /// Ends all exchanges of this communicator and of all that were made from it, on all ranks, where
  /// survives_failures(): for a rank that leaves, since threads of its optimizer may wait for others. The
  /// others get a PeerFailure.
  void revoke() { numbers_->revoke(); }
  /// After a PeerFailure: the ranks that are still there, in their order, in one level.
  ///
  /// First ends all exchanges of this communicator and of all that were made from it, on all ranks: those who
  /// wait there get a PeerFailure, and are to come here. Then all of them can only be destroyed. May be
  /// called again where it has failed. Over TCP it waits for ranks that say nothing until
  /// SocketOptions::connect_seconds have passed: a rank that computes longer is left out.
  ///
  /// Collective over those who are there. Errors: PeerFailure unless survives_failures(), and on ranks that
  /// the others have gone on without.
  [[nodiscard]] std::shared_ptr<Communicator> survivors();
  /// Over TCP: the address at which processes ask this rank to join, "HOST:PORT", for
  /// join_socket_communicator(). Empty over MPI.
  [[nodiscard]] std::string door() const { return numbers_->door(); }
  /// How many ask this rank now.
  [[nodiscard]] std::size_t newcomers() { return numbers_->newcomers(); }
  /// These ranks, and behind them those who ask any of them to join, in one level; null where nobody does.
  /// This communicator stays as it is. A newcomer that fails meanwhile is left out: it waits for that for 5
  /// seconds.
  ///
  /// kind: what ranks must agree on, in lines of text, such as the model and the optimizer: a newcomer with
  /// another text is refused, with the first line that differs. Collective. Wire: 8 B to each rank, if nobody
  /// asks. Errors: PeerFailure where one of these ranks fails.
  [[nodiscard]] std::shared_ptr<Communicator> admit(const std::string& kind);
  /// From now on the observer is told of all exchanges: of this communicator, of its levels, and of all that
  /// are made from it. Null: nobody is. Not during an exchange.
  void observe(std::shared_ptr<ExchangeObserver> observer) { *observer_ = std::move(observer); }
  /// Adds what another communicator sent for this one.
  void count_sent(Traffic traffic, std::size_t bytes) { counters_->add(traffic, bytes); }
  /// Whether threads may exchange at the same time, each over a duplicate of its own.
  [[nodiscard]] bool allows_threads() const { return transport_->allows_threads(); }
  /// Whether an exchange is under way. May be asked by other threads.
  [[nodiscard]] bool is_exchanging() const {
    return exchanges_ || (has_two_levels() && (node_->exchanges_ || across_->exchanges_));
  }

  /// From now on exchanges have two levels: dense between the `ranks_per_node` consecutive ranks of a node,
  /// or with 0 between those that share memory; then over the network, between ranks that have the same
  /// place in their nodes. 1: one level, as without this call. Once, before anything is exchanged.
  ///
  /// Collective. Errors: std::invalid_argument on all ranks if they give different numbers or not all of them
  /// stage, if ranks_per_node does not divide the number of ranks, or if nodes hold different numbers of
  /// ranks.
  void form_levels(int ranks_per_node);
  [[nodiscard]] bool has_two_levels() const { return node_ != nullptr; }
  /// The ranks of this node, if there are two levels. Counts bytes for this communicator, as across() does.
  [[nodiscard]] Communicator& node() { return *node_; }
  [[nodiscard]] const Communicator& node() const { return *node_; }
  /// The ranks with this rank's place in their nodes, in the order of their nodes; with one level all ranks.
  [[nodiscard]] Communicator& across() { return has_two_levels() ? *across_ : *this; }
  [[nodiscard]] const Communicator& across() const { return has_two_levels() ? *across_ : *this; }
  /// Of node(): what exchanges inside a node instead of messages; null if nothing does. NCCL, where the
  /// library was built with it and every rank has a device of its own; what MPI takes does not matter.
  [[nodiscard]] NodeCollectives* collectives() { return collectives_.get(); }
  /// Waits for what collectives() of the node have enqueued, on all levels. To be called before who would
  /// wait for the execution space: a fence waits for ever when a peer has failed. Errors: std::runtime_error
  /// then, where the vendor's library sees it; nothing is exchanged by it any more.
  void settle() {
    if (watched_ != nullptr) watched_->settle();
  }
  /// Who exchanges with whom, as layouts ask it.
  [[nodiscard]] Arrangement arrangement() const {
    if (!has_two_levels()) return Arrangement::flat(size(), rank());
    return {size(), rank(), node_->size(), node_->rank(), across_->rank(), node_->collectives_ != nullptr};
  }
  /// When an exchange that waits from now on gives up.
  [[nodiscard]] Seconds patience() const;
  /// After having waited so long: throws PeerFailure that names the ranks which do not wait as well.
  [[noreturn]] void report_missing_ranks();
  [[nodiscard]] int own_chunk() const { return arrangement().own_chunk(); }

  /// The pinned host memory that this communicator and its levels stage exchanges through, whatever these
  /// exchange: 0 where they do not stage. See StagingPool.
  [[nodiscard]] std::size_t staging_bytes() const { return staging_ == nullptr ? 0 : staging_->bytes(); }
  /// Allocates it, which else the first exchange does.
  void reserve_staging() {
    if (staging_ != nullptr) staging_->allocate();
  }

  /// Piece r of send goes to rank r, piece r of receive comes from there. Returns when pieces have left and
  /// kernels on exec can read what came; the own one is copied on exec.
  /// Wire: the sum of the send pieces but the own one.
  void all_to_all(const ExecutionSpace& exec, Traffic traffic, std::span<const std::byte> send,
                  std::span<const Piece> send_pieces, std::span<std::byte> receive,
                  std::span<const Piece> receive_pieces);

  /// Piece r of buffer comes from rank r; the own piece lies there already. Returns as all_to_all() does; by
  /// collectives(), it is enqueued on exec. Wire: (n - 1) times the own piece.
  void all_gather(const ExecutionSpace& exec, Traffic traffic, std::span<std::byte> buffer,
                  std::span<const Piece> pieces);

  /// values <- their sum over ranks, by MPI's own all-reduce: the plain baseline. The last bit may differ
  /// from rank to rank and from run to run; the algorithms use DenseMean instead. Waits for exec. Collective.
  /// Wire: counted as a ring's, 2 (n - 1)/n 4 B per element. Errors: MpiError, also above 2^31 - 1 elements.
  void all_reduce_sum(const ExecutionSpace& exec, const Vector<float>& values);

  /// The same values of every rank, [rank][value]. Wire: (n - 1) 8 B per value.
  [[nodiscard]] std::vector<double> all_gather_values(std::span<const double> values);

  /// Added in the order of ranks: the same sum on every rank. Wire: as all_gather_values().
  [[nodiscard]] double sum_over_ranks(double own);

  /// Throws on every rank unless own is null on all: the own exception where there is one, PeerFailure
  /// elsewhere. What one rank alone found wrong then ends in words on all, not in a hang. Collective.
  void require_success(const std::exception_ptr& own);

  /// The same text of every rank, [rank]. Wire: (n - 1) times 8 B and the longest text, in whole 8 B.
  [[nodiscard]] std::vector<std::string> all_gather_texts(std::string_view own);

  /// Where ranks give other values than rank 0: of the first such rank the first such value, on every rank.
  /// Collective. Wire: (n - 1) 8 B per value.
  [[nodiscard]] std::optional<Difference> first_difference(std::span<const std::uint64_t> values);

  /// Throws std::invalid_argument on every rank unless all ranks give the same values; the message names
  /// what differs and on which rank. Shape: one name per value. Collective. Wire: (n - 1) 8 B per value.
  void require_equal(std::span<const std::string> names, std::span<const std::uint64_t> values);

 private:
  friend class Exchange;
  void move_messages(bool wait, Messages::Done& done);
  void gather(std::byte* all, std::size_t bytes);
  void sum_through_host(const ExecutionSpace& exec, const Vector<float>& values);
  [[nodiscard]] std::unique_ptr<Communicator> level(std::unique_ptr<Transport> transport) const;
  [[nodiscard]] std::shared_ptr<Communicator> made_of(std::unique_ptr<Transport> transport) const;

  std::shared_ptr<Transport> transport_;
  std::shared_ptr<Transport> numbers_;  ///< whose numbers of ranks people know: not those of a level
  ExchangeOptions options_;
  bool staged_ = false;
  std::shared_ptr<ByteCounters> counters_ = std::make_shared<ByteCounters>();
  /// One for all that came from one communicator.
  std::shared_ptr<std::shared_ptr<ExchangeObserver>> observer_ =
      std::make_shared<std::shared_ptr<ExchangeObserver>>();
  std::unique_ptr<Messages> messages_;
  std::vector<DeviceEvent> events_;       ///< of earlier exchanges
  std::shared_ptr<StagingPool> staging_;  ///< null: not staged; one for all levels
  std::atomic<bool> exchanges_ = false;   ///< an Exchange is at work
  std::unique_ptr<Communicator> node_;
  std::unique_ptr<Communicator> across_;
  std::shared_ptr<NodeCollectives> collectives_;
  std::shared_ptr<NodeCollectives> watched_;  ///< of the node, on all levels: kernels may wait for it
};

}  // namespace kadam
