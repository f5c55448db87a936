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

/// Bytes that this rank has sent to other ranks, per class of traffic. The pieces that a rank keeps for
/// itself do not count.
class ByteCounters {
 public:
  [[nodiscard]] std::size_t sent(Traffic traffic) const { return sent_[static_cast<std::size_t>(traffic)]; }
  [[nodiscard]] std::size_t total() const;
  /// total() without Traffic::node, the bytes that two levels keep inside a node.
  [[nodiscard]] std::size_t between_nodes() const { return total() - sent(Traffic::node); }
  void add(Traffic traffic, std::size_t bytes) { sent_[static_cast<std::size_t>(traffic)] += bytes; }

 private:
  std::array<std::size_t, traffic_classes> sent_{};
};

/// An observer is told of exchanges as they happen; timelines are drawn from that.
///
/// Calls come from the thread that exchanges: from that of a background exchange at any time. Messages wait
/// for these calls: they must be short.
class ExchangeObserver {
 public:
  ExchangeObserver() = default;
  ExchangeObserver(const ExchangeObserver&) = delete;
  ExchangeObserver& operator=(const ExchangeObserver&) = delete;
  virtual ~ExchangeObserver() = default;

  virtual void exchange_begins(Traffic traffic) = 0;
  /// A message to rank `to` has been given to the transport. A staged piece may be several messages.
  virtual void sends(Traffic traffic, int to, std::size_t bytes) = 0;
  /// A whole piece from rank `from` has arrived.
  virtual void has_arrived(Traffic traffic, int from, std::size_t bytes) = 0;
  virtual void exchange_ends(Traffic traffic) = 0;
};

/// An MPI call has not returned MPI_SUCCESS; what() names the call and gives MPI's own text.
class MpiError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Another rank has failed: it has reported an error where all have to succeed (its own exception gives the
/// reason), its connection has ended, or nothing has come from it for ExchangeOptions::timeout_seconds.
class PeerFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether messages pass through (pinned) host memory on their way. automatic: if the host does not reach the
/// memory of Vectors and the transport does not accept device memory. always: also on a CPU, which tests that
/// path. never: for a transport that accepts device memory but cannot say so.
enum class Staging : std::uint8_t { automatic, always, never };

/// Returns the Staging for a setting that says whether MPI accepts device memory: "auto", "on" (never stage)
/// or "off" (always stage). nullopt for any other word.
[[nodiscard]] inline std::optional<Staging> staging_from(std::string_view gpu_aware) {
  if (gpu_aware == "auto") return Staging::automatic;
  if (gpu_aware == "on") return Staging::never;
  if (gpu_aware == "off") return Staging::always;
  return std::nullopt;
}

/// The length of pieces if ExchangeOptions::piece_bytes is 0. If on_host, for vectors in host memory, 60 KiB:
/// from 64 KiB on the TCP transports of MPI ask the receiver before they send; docs/performance.md has the
/// measurements. Else, for vectors on a device, 4 MiB, whether messages are staged or not: each piece costs
/// kernel launches, a copy and a message, together 10 to 50 microseconds, in which fast links carry a
/// megabyte; and a kernel for 60 KiB leaves most of a device idle.
[[nodiscard]] constexpr std::size_t automatic_piece_bytes(bool on_host = kernels_run_on_host) {
  return on_host ? std::size_t{60} << 10U : std::size_t{4} << 20U;
}

struct ExchangeOptions {
  Staging staging = Staging::automatic;
  /// Messages are cut into pieces of about this length, so that one is encoded or decoded while others
  /// travel. The same on all ranks. 0: automatic_piece_bytes().
  std::size_t piece_bytes = 0;
  /// How long a rank waits for others while nothing arrives or leaves, before it throws PeerFailure. 0: for
  /// ever. Other ranks also wait while a rank works between two exchanges, so that work has to take less.
  double timeout_seconds = 1800.0;
};

/// A value that differs between rank 0 and another rank.
struct Difference {
  int rank = 0;                ///< the other rank
  std::size_t value = 0;       ///< index of the value among those compared
  std::uint64_t of_first = 0;  ///< rank 0's value
  std::uint64_t of_rank = 0;   ///< the other rank's value
};

/// The bytes of a View's elements, wherever they live.
template <class View>
[[nodiscard]] auto bytes_of(const View& view) {
  using Byte = std::conditional_t<std::is_const_v<typename View::value_type>, const std::byte, std::byte>;
  return std::span<Byte>(reinterpret_cast<Byte*>(view.data()),
                         view.size() * sizeof(typename View::value_type));
}

/// Exchanges bytes between ranks: the one place where messages wait for kernels, pass through the host, are
/// counted and moved.
///
/// Collective: every exchange, by all ranks of the transport, in the same order. Errors: MpiError where MPI
/// refuses a call; PeerFailure, which names the missing ranks, where a wait for them ends. After that nothing
/// can be exchanged over this communicator any more: see survivors().
class Communicator {
 public:
  /// Makes a communicator over this transport, with one level. Errors: std::invalid_argument for a negative
  /// timeout.
  explicit Communicator(std::unique_ptr<Transport> transport, const ExchangeOptions& options = {});

  /// Makes a communicator of one rank.
  [[nodiscard]] static std::shared_ptr<Communicator> self();

  [[nodiscard]] int rank() const { return transport_->rank(); }
  [[nodiscard]] int size() const { return transport_->size(); }
  [[nodiscard]] bool stages_through_host() const { return staged_; }
  /// The length of pieces of Vectors: ExchangeOptions::piece_bytes, or the automatic one.
  [[nodiscard]] std::size_t piece_bytes() const { return piece_bytes(kernels_run_on_host); }
  /// The same for vectors that lie in host memory if on_host, as those of background exchanges always do.
  [[nodiscard]] std::size_t piece_bytes(bool on_host) const {
    return options_.piece_bytes > 0 ? options_.piece_bytes : automatic_piece_bytes(on_host);
  }
  /// One line for people: the transport, the levels, and whether messages are staged.
  [[nodiscard]] std::string description() const;
  [[nodiscard]] const ByteCounters& bytes_sent() const { return *counters_; }

  /// Makes another communicator of the same ranks; messages of the two never meet. Collective. The results of
  /// duplicate(), split() and split_by_node() have the options of this communicator, byte counters that begin
  /// at 0, and one level. Over TCP the three wait for SocketOptions::connect_seconds at most; then they throw
  /// PeerFailure.
  [[nodiscard]] std::shared_ptr<Communicator> duplicate();
  /// Makes a communicator of the ranks that give the same colour, 0 or more, in the order of their ranks
  /// here. Collective.
  [[nodiscard]] std::shared_ptr<Communicator> split(int colour);
  /// Makes a communicator of the ranks that share this rank's memory. Collective.
  [[nodiscard]] std::shared_ptr<Communicator> split_by_node();
  /// Whether survivors() works: over TCP, and over an MPI that tolerates faults and was started to do so
  /// (Open MPI 5: mpirun --with-ft ulfm).
  [[nodiscard]] bool survives_failures() const { return transport_->survives_failures(); }
  /// Ends all exchanges of this communicator, and of all that it was made from or that were made from it, on
  /// all ranks; the other ranks get a PeerFailure. Only where survives_failures(). A rank calls it before it
  /// leaves, because threads of its optimizer may be waiting for other ranks.
  void revoke() { numbers_->revoke(); }
  /// After a PeerFailure: makes a communicator of the ranks that are still there, in the order of their
  /// ranks, with one level.
  ///
  /// First revokes, as revoke() does: ranks that wait in an exchange get a PeerFailure and have to call
  /// survivors() as well. Afterwards the old communicators can only be destroyed. It may be called again if
  /// it fails. Over TCP it waits up to SocketOptions::connect_seconds for ranks that do not answer: a rank
  /// that computes for longer is left out.
  ///
  /// Collective over the ranks that are still there. Errors: PeerFailure unless survives_failures(), and on a
  /// rank that the others have gone on without.
  [[nodiscard]] std::shared_ptr<Communicator> survivors();
  /// Over TCP: the address "HOST:PORT" at which new processes ask this rank to join, for
  /// join_socket_communicator(). Empty over MPI.
  [[nodiscard]] std::string door() const { return numbers_->door(); }
  /// How many processes are asking this rank to join now.
  [[nodiscard]] std::size_t newcomers() { return numbers_->newcomers(); }
  /// Makes a communicator, with one level, of these ranks and, with ranks behind theirs, of the newcomers:
  /// the processes that ask any of these ranks to join. Null if nobody asks, or if a newcomer fails
  /// meanwhile, which includes that it does not connect within 5 seconds: then none of them is let in, and
  /// those that are still there ask again. This communicator stays usable.
  ///
  /// kind: lines of text on which all ranks must agree, such as the model and the optimizer. A newcomer with
  /// another text is refused, and is told the first line that differs. Collective. Wire: 8 B to each rank, if
  /// nobody asks. Errors: PeerFailure if one of these ranks fails.
  [[nodiscard]] std::shared_ptr<Communicator> admit(const std::string& kind);
  /// From now on `observer` is told of all exchanges of this communicator, of its levels, and of all
  /// communicators that it was made from or that are made from it by duplicate(), split(), split_by_node(),
  /// survivors() or admit(). Exchanges by collectives() are not reported. Null: no observer. Not to be called
  /// during an exchange.
  void observe(std::shared_ptr<ExchangeObserver> observer) { *observer_ = std::move(observer); }
  /// Counts bytes that another communicator, or collectives(), has sent on behalf of this one.
  void count_sent(Traffic traffic, std::size_t bytes) { counters_->add(traffic, bytes); }
  /// Whether several threads may exchange at the same time, each over its own duplicate.
  [[nodiscard]] bool allows_threads() const { return transport_->allows_threads(); }
  /// Whether an Exchange of this communicator or of one of its levels is under way. Other threads may ask.
  [[nodiscard]] bool is_exchanging() const {
    return exchanges_ || (has_two_levels() && (node_->exchanges_ || across_->exchanges_));
  }

  /// Makes two levels: from now on vectors are exchanged densely inside a node first, then over the network,
  /// between ranks that have the same place in their nodes. A node is `ranks_per_node` consecutive ranks, or,
  /// with 0, the ranks that share memory. 1: one level, as without this call, and as for nodes of one rank.
  /// To be called once, before anything is exchanged.
  ///
  /// Collective. Errors: std::invalid_argument on all ranks if they give different numbers, if some ranks
  /// stage and others do not, if ranks_per_node does not divide the number of ranks, or if nodes hold
  /// different numbers of ranks.
  void form_levels(int ranks_per_node);
  [[nodiscard]] bool has_two_levels() const { return node_ != nullptr; }
  /// The communicator of the ranks of this node; only with two levels. Its bytes are counted by this
  /// communicator, as are those of across().
  [[nodiscard]] Communicator& node() { return *node_; }
  [[nodiscard]] const Communicator& node() const { return *node_; }
  /// The communicator of the ranks with this rank's place in their nodes, in the order of the nodes. With one
  /// level: this communicator.
  [[nodiscard]] Communicator& across() { return has_two_levels() ? *across_ : *this; }
  [[nodiscard]] const Communicator& across() const { return has_two_levels() ? *across_ : *this; }
  /// On node(): the collectives that its ranks use instead of messages; null if there are none, and on every
  /// other communicator. They are NCCL's, if the library was built with NCCL and each rank of the node has a
  /// device to itself; whether MPI accepts device memory does not matter.
  [[nodiscard]] NodeCollectives* collectives() { return collectives_.get(); }
  /// Waits until the work that the node's collectives() have enqueued is done; of this communicator, node()
  /// and across() any may be asked. To be called before waiting for the execution space: a fence would wait
  /// for ever if another rank has failed. Errors: std::runtime_error if the vendor's library has noticed such
  /// a failure; it exchanges nothing any more.
  void settle() {
    if (watched_ != nullptr) watched_->settle();
  }
  /// Describes which ranks exchange with each other, for layouts.
  [[nodiscard]] Arrangement arrangement() const {
    if (!has_two_levels()) return Arrangement::flat(size(), rank());
    return {size(), rank(), node_->size(), node_->rank(), across_->rank(), node_->collectives_ != nullptr};
  }
  /// How long a wait may last before it gives up: ExchangeOptions::timeout_seconds, or for_ever.
  [[nodiscard]] Seconds patience() const;
  /// To be called when a wait of patience() has ended in vain. Calls the roll for a quarter of the timeout, 1
  /// to 30 seconds, and throws a PeerFailure that names the ranks that did not call it as well.
  [[noreturn]] void report_missing_ranks();
  [[nodiscard]] int own_chunk() const { return arrangement().own_chunk(); }

  /// Bytes of the pinned host memory through which this communicator and its levels stage messages; 0 if they
  /// do not stage. It does not depend on the vectors' lengths: see StagingPool.
  [[nodiscard]] std::size_t staging_bytes() const { return staging_ == nullptr ? 0 : staging_->bytes(); }
  /// Allocates the staging memory now; otherwise the first exchange allocates it.
  void reserve_staging() {
    if (staging_ != nullptr) staging_->allocate();
  }

  /// Sends piece r of `send` to rank r and receives piece r of `receive` from rank r; this rank's own piece
  /// is copied on exec. Returns when the pieces have left and kernels on exec can read all that was received.
  /// Shape: one piece per rank in send_pieces and in receive_pieces; piece r of `receive` is as long as the
  /// piece that rank r sends here; send and receive do not overlap. Wire: the sum of the pieces of `send`
  /// without this rank's own.
  void all_to_all(const ExecutionSpace& exec, Traffic traffic, std::span<const std::byte> send,
                  std::span<const Piece> send_pieces, std::span<std::byte> receive,
                  std::span<const Piece> receive_pieces);

  /// Receives piece r of `buffer` from rank r, and sends this rank's own piece, which has to lie in its
  /// place, to all others. Returns as all_to_all() does; if there are collectives(), it only enqueues the
  /// exchange on exec. Shape: one piece per rank. Wire: (n - 1) times the own piece.
  void all_gather(const ExecutionSpace& exec, Traffic traffic, std::span<std::byte> buffer,
                  std::span<const Piece> pieces);

  /// values <- their sum over ranks, by the transport's own all-reduce: MPI_Allreduce, or a ring over TCP. It
  /// is the plain baseline. The last bit may differ from rank to rank and from run to run; the algorithms use
  /// DenseMean instead. Waits for exec, and for other ranks without a timeout. Collective. Wire: counted as a
  /// ring's, 2 (n - 1)/n 4 B per element. Errors: over MPI MpiError, also above 2^31 - 1 elements unless
  /// staged; PeerFailure if a rank has failed.
  void all_reduce_sum(const ExecutionSpace& exec, const Vector<float>& values);

  /// Returns the values of every rank, [rank][value]. Shape: equally many values on every rank. Wire: (n - 1)
  /// 8 B per value.
  [[nodiscard]] std::vector<double> all_gather_values(std::span<const double> values);

  /// Returns the sum of `own` over ranks, added in rank order: the same bits on every rank. Wire: as
  /// all_gather_values().
  [[nodiscard]] double sum_over_ranks(double own);

  /// Throws on every rank unless `own`, the exception that this rank has caught, is null on all ranks:
  /// rethrows `own` where there is one, and throws PeerFailure on the other ranks. So an error that only one
  /// rank finds ends all ranks with a message, and none waits for ever. Collective.
  void require_success(const std::exception_ptr& own);

  /// Returns the text of every rank, [rank]. Wire: (n - 1) times 8 B plus the longest text, rounded up to
  /// whole 8 B.
  [[nodiscard]] std::vector<std::string> all_gather_texts(std::string_view own);

  /// Compares the values of all ranks with those of rank 0. Returns, on every rank, the first value that
  /// differs on the first rank that differs; nullopt if there is none. Collective. Wire: (n - 1) 8 B per
  /// value.
  [[nodiscard]] std::optional<Difference> first_difference(std::span<const std::uint64_t> values);

  /// Throws std::invalid_argument on every rank unless all ranks give the same values; the message names
  /// what differs and on which rank, and ends with the advice. Shape: one name per value. Collective.
  /// Wire: (n - 1) 8 B per value.
  void require_equal(std::span<const std::string> names, std::span<const std::uint64_t> values,
                     std::string_view advice = "start all ranks with the same configuration");

 private:
  friend class Exchange;
  void move_messages(bool wait, Messages::Done& done);
  void gather(std::byte* all, std::size_t bytes);
  void sum_through_host(const ExecutionSpace& exec, const Vector<float>& values);
  [[nodiscard]] std::unique_ptr<Communicator> level(std::unique_ptr<Transport> transport) const;
  [[nodiscard]] std::shared_ptr<Communicator> made_of(std::unique_ptr<Transport> transport) const;

  std::shared_ptr<Transport> transport_;
  /// The transport whose rank numbers people know: of a level or a duplicate, that of the communicator from
  /// which it was made. Failures are handled, and newcomers let in, over this one.
  std::shared_ptr<Transport> numbers_;
  ExchangeOptions options_;
  bool staged_ = false;
  std::shared_ptr<ByteCounters> counters_ = std::make_shared<ByteCounters>();
  /// Shared by all communicators that were made from one another.
  std::shared_ptr<std::shared_ptr<ExchangeObserver>> observer_ =
      std::make_shared<std::shared_ptr<ExchangeObserver>>();
  std::unique_ptr<Messages> messages_;
  std::vector<DeviceEvent> events_;       ///< of earlier exchanges, to be used again
  std::shared_ptr<StagingPool> staging_;  ///< null: not staged; shared by the levels
  std::atomic<bool> exchanges_ = false;   ///< an Exchange is under way
  std::unique_ptr<Communicator> node_;
  std::unique_ptr<Communicator> across_;
  std::shared_ptr<NodeCollectives> collectives_;
  std::shared_ptr<NodeCollectives> watched_;  ///< the node's, on each level: kernels may wait for it
};

}  // namespace kadam
