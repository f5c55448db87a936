// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kadam {

using Seconds = std::chrono::duration<double>;
constexpr Seconds for_ever{std::numeric_limits<double>::infinity()};

/// When a send is done, and its memory free again: `standard` as MPI thinks best, often as soon as it has a
/// copy; `synchronous` when the receiver takes it. Only of synchronous sends does sending() tell what is on
/// the wire.
enum class SendMode : std::uint8_t { standard, synchronous };

/// Messages on their way from and to this rank.
///
/// Messages from one rank to another with the same tag arrive in the order in which they were sent. The
/// memory of a message belongs to it from the call until it is done: do not write what is being sent, do not
/// touch what is being received. One thread at a time.
class Messages {
 public:
  Messages() = default;
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  /// Gives up what is under way, as give_up() does.
  virtual ~Messages() = default;

  struct Arrival {
    std::size_t id = 0;
    int tag = 0;
  };
  /// What progress() has found done.
  struct Done {
    std::vector<Arrival> arrived;
    std::vector<std::size_t> sent;  ///< ids of sends: of one that travels in parts, once for each

    [[nodiscard]] bool empty() const { return arrived.empty() && sent.empty(); }
    void clear() {
      arrived.clear();
      sent.clear();
    }
  };

  /// id: what Done will call it, as below.
  virtual void send(int to, int tag, const std::byte* data, std::size_t bytes, SendMode mode,
                    std::size_t id) = 0;
  virtual void receive(int from, int tag, std::byte* data, std::size_t bytes, std::size_t id) = 0;
  /// The next message from this rank that no earlier receive is for, whatever its tag; it may be shorter. Not
  /// for messages that are longer than Transport::longest_message_bytes().
  virtual void receive_any(int from, std::byte* data, std::size_t bytes, std::size_t id) = 0;

  /// Moves what can be moved now. Appends what is done. Waits until something is, a send or a receive, but at
  /// most so long, and not where nothing is under way.
  virtual void progress(Seconds patience, Done& done) = 0;
  /// Sends that are not done; they need progress() as well.
  [[nodiscard]] virtual std::size_t sending() const = 0;
  /// Receives that are not done.
  [[nodiscard]] virtual std::size_t receiving() const = 0;
  /// After a failure: forgets what is under way and waits for nobody. What had been sent may arrive or not.
  virtual void give_up() = 0;
};

/// Moves bytes between ranks. Knows no Kokkos, no optimizer, no message format.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Whether pointers to device memory may be given.
  [[nodiscard]] virtual bool accepts_device_memory() const = 0;
  /// Whether several threads may exchange at the same time, each over a duplicate of its own.
  [[nodiscard]] virtual bool allows_threads() const = 0;
  /// Longer messages travel in parts.
  [[nodiscard]] virtual std::size_t longest_message_bytes() const {
    return std::numeric_limits<std::size_t>::max();
  }
  /// One line for people: which transport, between whom.
  [[nodiscard]] virtual std::string description() const = 0;

  /// Single messages between any two ranks.
  [[nodiscard]] virtual std::unique_ptr<Messages> messages() = 0;
  /// So many bytes of every rank, rank 0's first; the own ones lie there already. For few bytes, where the
  /// number of messages counts: log2 n in a row. No receive of messages() takes what belongs to it.
  /// Collective. False if nothing has come for so long; then this transport is of no more use.
  [[nodiscard]] virtual bool all_gather(std::byte* all, std::size_t bytes, Seconds patience) = 0;
  /// After having waited in vain: the ranks that do not come here within so long, having waited in vain too.
  [[nodiscard]] virtual std::vector<int> missing_ranks(Seconds patience) = 0;
  /// Sum over ranks, in place, in whatever order the transport likes best. Collective.
  virtual void all_reduce_sum(float* values, std::size_t count) = 0;

  /// The same ranks again: nothing that is sent over the one is received over the other. Collective.
  [[nodiscard]] virtual std::unique_ptr<Transport> duplicate() = 0;
  /// The ranks that give the same colour, in the order of their ranks here. Collective.
  [[nodiscard]] virtual std::unique_ptr<Transport> split(int colour) = 0;
  /// The ranks that share this rank's memory. Collective.
  [[nodiscard]] virtual std::unique_ptr<Transport> split_by_node() = 0;

  /// Whether the others can go on without a rank that has failed: revoke() and shrink().
  [[nodiscard]] virtual bool survives_failures() const { return false; }
  /// After a failure: ends all exchanges of this transport and of all that were made from it or with it.
  /// Exchanges that wait, on any rank and in any thread, fail, and so do later ones.
  virtual void revoke() {}
  /// After a failure: revokes, and returns a transport of the ranks that are still there, in their order;
  /// null unless survives_failures(). Collective over these. It may be called again, also where it has
  /// failed. Errors: PeerFailure where one more rank fails meanwhile, or the others have gone on without this
  /// rank.
  [[nodiscard]] virtual std::unique_ptr<Transport> shrink() { return nullptr; }

  /// Where processes ask this rank to join; empty: they cannot.
  [[nodiscard]] virtual std::string door() const { return {}; }
  /// How many ask this rank now.
  [[nodiscard]] virtual std::size_t newcomers() { return 0; }
  /// A transport of these ranks, and behind them of those who ask any of them and are of this kind; null
  /// where there are none, or one has failed meanwhile. Collective. Errors: PeerFailure where one of these
  /// ranks fails.
  [[nodiscard]] virtual std::unique_ptr<Transport> admit(const std::string& /*kind*/) { return nullptr; }
};

}  // namespace kadam
