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

/// When a send is done, so that its memory is free again. standard: when the transport says so, often as soon
/// as it has a copy. synchronous: when the receiver takes the message. Only of synchronous sends does
/// sending() tell how many are on the wire.
enum class SendMode : std::uint8_t { standard, synchronous };

/// Starts messages from and to this rank, and tells which of them are done.
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
    std::size_t id = 0;  ///< of the receive
    int tag = 0;         ///< of the message
  };
  /// What progress() has found done.
  struct Done {
    std::vector<Arrival> arrived;
    std::vector<std::size_t> sent;  ///< ids of sends; of a send in parts, once per part

    [[nodiscard]] bool empty() const { return arrived.empty() && sent.empty(); }
    void clear() {
      arrived.clear();
      sent.clear();
    }
  };

  /// Starts to send a message to rank `to`. id: the number by which Done will name this send, chosen by the
  /// caller; a small one, because tables are indexed by the ids of receives.
  virtual void send(int to, int tag, const std::byte* data, std::size_t bytes, SendMode mode,
                    std::size_t id) = 0;
  /// Announces a receive: the next message of rank `from` with this tag goes to `data`. bytes: its length.
  /// id: as of send(), in Done::arrived.
  virtual void receive(int from, int tag, std::byte* data, std::size_t bytes, std::size_t id) = 0;
  /// Announces a receive of the next message of rank `from` that no earlier receive matches, whatever its
  /// tag; Arrival::tag tells it. bytes: its greatest length. Not for messages that are longer than
  /// Transport::longest_message_bytes().
  virtual void receive_any(int from, std::byte* data, std::size_t bytes, std::size_t id) = 0;

  /// Moves messages on, and adds those that are done to `done`, which has to be empty. Waits for `patience`
  /// at most until a send or a receive is done; does not wait if nothing is under way.
  virtual void progress(Seconds patience, Done& done) = 0;
  /// The number of sends that are not done; progress() has to be called for these as well.
  [[nodiscard]] virtual std::size_t sending() const = 0;
  /// The number of receives that are not done.
  [[nodiscard]] virtual std::size_t receiving() const = 0;
  /// After a failure: forgets all messages that are under way, and waits for no rank. Messages that were sent
  /// may arrive or not.
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
  /// The greatest length of a message; a longer one travels in parts.
  [[nodiscard]] virtual std::size_t longest_message_bytes() const {
    return std::numeric_limits<std::size_t>::max();
  }
  /// One line for people: which transport, between whom.
  [[nodiscard]] virtual std::string description() const = 0;

  /// Makes the Messages between these ranks. The transport has to outlive them.
  [[nodiscard]] virtual std::unique_ptr<Messages> messages() = 0;
  /// Gathers `bytes` bytes of every rank into `all`, in rank order; this rank's own bytes have to lie in
  /// their place. For few bytes, where the number of messages counts: log2 n one after the other. No receive
  /// of messages() takes its messages. Collective. Returns false if nothing has arrived for `patience`; the
  /// transport cannot be used any more then.
  [[nodiscard]] virtual bool all_gather(std::byte* all, std::size_t bytes, Seconds patience) = 0;
  /// Calls the roll: to be called by each rank whose wait has ended in vain. Returns the ranks that do not
  /// call it within `patience`.
  [[nodiscard]] virtual std::vector<int> missing_ranks(Seconds patience) = 0;
  /// values <- their sum over ranks, in the order of summation that suits the transport. Waits without a
  /// limit. Collective.
  virtual void all_reduce_sum(float* values, std::size_t count) = 0;

  /// Makes another transport of the same ranks: a message that is sent over one of the two is never received
  /// over the other. Collective.
  [[nodiscard]] virtual std::unique_ptr<Transport> duplicate() = 0;
  /// Makes a transport of the ranks that give the same colour, in the order of their ranks here. Collective.
  [[nodiscard]] virtual std::unique_ptr<Transport> split(int colour) = 0;
  /// Makes a transport of the ranks that share this rank's memory. Collective.
  [[nodiscard]] virtual std::unique_ptr<Transport> split_by_node() = 0;

  /// Whether the other ranks can go on if a rank has failed, by revoke() and shrink().
  [[nodiscard]] virtual bool survives_failures() const { return false; }
  /// After a failure: ends all exchanges of this transport, and of all that it was made from or that were
  /// made from it. Exchanges that wait, on any rank and in any thread, fail, and so do later ones.
  virtual void revoke() {}
  /// After a failure: calls revoke() and makes a transport of the ranks that are still there, in the order of
  /// their ranks; to be called only if survives_failures(). It may be called again if it fails. Collective
  /// over the ranks that are still there. Errors: PeerFailure if the ranks that are left do not agree, after
  /// as many attempts as there are ranks, or if the others have gone on without this rank.
  [[nodiscard]] virtual std::unique_ptr<Transport> shrink() { return nullptr; }

  /// The address at which new processes ask this rank to join; empty if they cannot.
  [[nodiscard]] virtual std::string door() const { return {}; }
  /// How many processes are asking this rank to join now.
  [[nodiscard]] virtual std::size_t newcomers() { return 0; }
  /// Makes a transport of these ranks and, with ranks behind theirs, of the processes that ask any of them to
  /// join and give the same `kind`. Null if there are none, or if one of them fails meanwhile. Collective.
  /// Errors: PeerFailure if one of these ranks fails.
  [[nodiscard]] virtual std::unique_ptr<Transport> admit(const std::string& /*kind*/) { return nullptr; }
};

}  // namespace kadam
