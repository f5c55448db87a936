// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace kadam {

class SocketMessages;

/// One TCP connection to every other rank. Messages travel on it in two lanes, one for exchanges and one for
/// all-gathers: a receive in one lane never takes a message of the other. A header of 24 bytes precedes each
/// message; it is a part of the transport, like TCP's own, and ByteCounters do not count it.
///
/// A message is kept until a receive is posted for it. A synchronous send is done when all of it has left and
/// the receiver has answered, by a header without a message, that it takes it. One thread at a time.
class SocketConnections {
 public:
  enum class Lane : std::uint16_t { exchange, gather };

  /// descriptors: the socket to each rank, by rank, and -1 for this rank. The object closes them.
  SocketConnections(int rank, const std::vector<int>& descriptors);
  SocketConnections(const SocketConnections&) = delete;
  SocketConnections& operator=(const SocketConnections&) = delete;
  ~SocketConnections();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(peers_.size()); }
  /// Whether the connection to this rank has ended, because the rank has shut it down or its process has
  /// ended.
  [[nodiscard]] bool has_ended(int rank) const;
  /// Ends all connections: exchanges over them fail on this rank and on the others. Any thread may call it.
  void shut_down() const;

 private:
  friend class SocketMessages;

  enum class Kind : std::uint16_t { message, message_to_be_answered, answer };
  struct Header {
    Kind kind = Kind::message;
    Lane lane = Lane::exchange;
    std::int32_t tag = 0;
    std::uint64_t bytes = 0;
    std::uint64_t number = 0;  ///< identifies a message that is to be answered, and its answer
  };
  /// The tag of a message whose receive was given up: its rest is read and dropped. Other tags are >= 0.
  static constexpr std::int32_t dropped = -1;
  [[nodiscard]] static bool is_dropped(const Header& header) { return header.tag == dropped; }

  /// A receive that waits for its message. No tag: it takes any message.
  struct Posted {
    SocketMessages* owner = nullptr;
    std::optional<int> tag;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::size_t id = 0;
  };
  struct Outgoing {
    Header header;
    const std::byte* data = nullptr;
    std::size_t written = 0;          ///< of header and message together
    SocketMessages* owner = nullptr;  ///< null: it is an answer
    std::size_t id = 0;
  };
  /// A message that has come before its receive.
  struct Kept {
    Header header;
    std::vector<std::byte> bytes;
  };
  /// The message that is being read.
  struct Incoming {
    Header header;
    std::size_t header_read = 0;
    std::size_t read = 0;
    std::optional<Posted> receive;  ///< it goes to this memory; none: it is kept
    Kept kept;
  };
  struct Peer {
    int descriptor = -1;
    std::deque<Outgoing> outgoing;
    Incoming incoming;
    std::deque<Posted> posted[2];  ///< by lane
    std::deque<Kept> kept[2];
    bool has_ended = false;
  };
  /// A synchronous send that is not done: it is done when it is both written and answered. The receiver
  /// answers as soon as the message begins to arrive and its receive is posted.
  struct Unanswered {
    int to = 0;
    SocketMessages* owner = nullptr;
    std::size_t id = 0;
    bool is_written = false;
    bool is_answered = false;
  };

  void send(Lane lane, int to, int tag, const std::byte* data, std::size_t bytes, SendMode mode,
            SocketMessages& owner, std::size_t id);
  void receive(Lane lane, int from, const Posted& posted);
  /// Waits for `patience` at most until a connection is ready; then reads and writes all that needs no wait.
  /// Errors: PeerFailure if a rank has ended from which, or to which, messages are under way.
  void move(Seconds patience);
  /// Forgets all sends and receives of `owner`. A message that is half written ends its connection.
  void forget(const SocketMessages& owner);

  void write_to(int rank);
  void read_from(int rank);
  /// Reads into `data` from byte `read` on, and moves `read` on. Returns whether all bytes have been read; if
  /// not, the others have not come yet or the connection has ended.
  bool read_into(int rank, std::byte* data, std::size_t bytes, std::size_t& read);
  void begin_message(int rank);
  /// Errors: std::runtime_error if the message is longer than its receive.
  static void require_room(int from, const Header& header, const Posted& posted);
  void end_message(int rank);
  void answer(int rank, const Header& header);
  void complete(std::uint64_t number, bool Unanswered::*half);
  /// Ends the connection to this rank: nothing can be exchanged with it any more, and it will notice.
  void end(Peer& peer);
  void require_alive(int rank) const;
  void require_those_waited_for();
  [[nodiscard]] Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  int rank_;
  std::vector<Peer> peers_;
  std::uint64_t last_number_ = 0;
  std::unordered_map<std::uint64_t, Unanswered> unanswered_;
};

/// The Messages in one lane of the connections.
class SocketMessages final : public Messages {
 public:
  SocketMessages(std::shared_ptr<SocketConnections> connections, SocketConnections::Lane lane)
      : connections_(std::move(connections)), lane_(lane) {}
  ~SocketMessages() override { SocketMessages::give_up(); }

  void send(int to, int tag, const std::byte* data, std::size_t bytes, SendMode mode,
            std::size_t id) override;
  void receive(int from, int tag, std::byte* data, std::size_t bytes, std::size_t id) override;
  void receive_any(int from, std::byte* data, std::size_t bytes, std::size_t id) override;
  void progress(Seconds patience, Done& done) override;
  [[nodiscard]] std::size_t sending() const override { return sending_; }
  [[nodiscard]] std::size_t receiving() const override { return receiving_; }
  void give_up() override;

 private:
  friend class SocketConnections;
  void has_sent(std::size_t id);
  void has_arrived(std::size_t id, int tag);

  std::shared_ptr<SocketConnections> connections_;
  SocketConnections::Lane lane_;
  Done done_;
  // Sends and receives that progress() has not yet reported as done.
  std::size_t sending_ = 0;
  std::size_t receiving_ = 0;
};

}  // namespace kadam
