// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/gathers.hpp>
#include <kadam/comm/socket_communicator.hpp>
#include <kadam/comm/socket_connections.hpp>
#include <kadam/comm/socket_meeting.hpp>
#include <kadam/text_hash.hpp>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

/// The transport over connections between some of all ranks of a meeting.
class SocketTransport final : public Transport {
 public:
  /// members: the ranks of this transport, by their numbers among all ranks, in the order of their ranks
  /// here. group: the same number on all of them, and no other group's. has_failed: as in
  /// SocketMeeting::connect().
  SocketTransport(std::shared_ptr<SocketMeeting> meeting, std::uint64_t group, std::vector<int> members,
                  const SocketMeeting::HasFailed& has_failed)
      : meeting_(std::move(meeting)),
        group_(group),
        members_(std::move(members)),
        connections_(meeting_->connect(group, members_, has_failed, meeting_->patience())) {}
  SocketTransport(std::shared_ptr<SocketMeeting> meeting, SocketMeeting::Reunion reunion)
      : meeting_(std::move(meeting)),
        group_(reunion.group),
        members_(std::move(reunion.members)),
        connections_(std::move(reunion.connections)) {}

  [[nodiscard]] int rank() const override { return connections_->rank(); }
  [[nodiscard]] int size() const override { return connections_->size(); }
  [[nodiscard]] bool accepts_device_memory() const override { return false; }
  [[nodiscard]] bool allows_threads() const override { return true; }
  [[nodiscard]] std::string description() const override {
    return "TCP, " + std::to_string(size()) + (size() == 1 ? " rank" : " ranks");
  }

  [[nodiscard]] std::unique_ptr<Messages> messages() override {
    return std::make_unique<SocketMessages>(connections_, SocketConnections::Lane::exchange);
  }

  bool all_gather(std::byte* all, std::size_t bytes, Seconds patience) override {
    SocketMessages messages(connections_, SocketConnections::Lane::gather);
    return gather_by_messages(messages, rank(), size(), all, bytes, patience, gathered_);
  }

  std::vector<int> missing_ranks(Seconds patience) override {
    SocketMessages messages(connections_, SocketConnections::Lane::gather);
    return call_roll(messages, rank(), size(), patience);
  }

  /// A ring: each rank adds up one part of the values and then passes it on to all.
  void all_reduce_sum(float* values, std::size_t count) override {
    const auto ranks = static_cast<std::size_t>(size());
    const auto rank = static_cast<std::size_t>(this->rank());
    const auto begin_of = [&](std::size_t part) { return count * part / ranks; };
    std::vector<float> arrived(count / ranks + 1);
    SocketMessages messages(connections_, SocketConnections::Lane::gather);
    Messages::Done done;
    const auto next = static_cast<int>((rank + 1) % ranks);
    const auto before = static_cast<int>((rank + ranks - 1) % ranks);
    for (std::size_t round = 0; round + 1 < 2 * ranks - 1; ++round) {
      const bool adds = round + 1 < ranks;
      const std::size_t sent = (rank + 2 * ranks - round) % ranks;
      const std::size_t got = (sent + ranks - 1) % ranks;
      float* const own = values + begin_of(got);
      const std::size_t length = begin_of(got + 1) - begin_of(got);
      messages.receive(before, 0, reinterpret_cast<std::byte*>(adds ? arrived.data() : own),
                       length * sizeof(float), 0);
      messages.send(next, 0, reinterpret_cast<const std::byte*>(values + begin_of(sent)),
                    (begin_of(sent + 1) - begin_of(sent)) * sizeof(float), SendMode::standard, 0);
      done.clear();
      while (done.arrived.empty() || messages.sending() > 0) messages.progress(for_ever, done);
      for (std::size_t i = 0; adds && i < length; ++i) own[i] += arrived[i];
    }
  }

  [[nodiscard]] std::unique_ptr<Transport> duplicate() override { return group_of(next_group(0), members_); }

  [[nodiscard]] std::unique_ptr<Transport> split(int colour) override {
    std::vector<int> colours(members_.size());
    colours[static_cast<std::size_t>(rank())] = colour;
    gather(colours);
    std::vector<int> members;
    for (std::size_t k = 0; k < members_.size(); ++k) {
      if (colours[k] == colour) members.push_back(members_[k]);
    }
    const std::uint64_t group = next_group(1 + static_cast<std::uint64_t>(members.front()));
    return group_of(group, std::move(members));
  }

  [[nodiscard]] std::unique_ptr<Transport> split_by_node() override {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string host;
    std::getline(file, host);
    std::vector<std::uint64_t> hosts(members_.size());
    const std::uint64_t own = hash_of(host + SocketListener::host_name());
    hosts[static_cast<std::size_t>(rank())] = own;
    gather(hosts);
    return split(static_cast<int>(std::find(hosts.begin(), hosts.end(), own) - hosts.begin()));
  }

  [[nodiscard]] bool survives_failures() const override { return true; }
  void revoke() override { meeting_->shut_down(); }
  [[nodiscard]] std::unique_ptr<Transport> shrink() override {
    return std::make_unique<SocketTransport>(meeting_, meeting_->reunite(members_));
  }

  [[nodiscard]] std::string door() const override { return meeting_->own_address(); }
  [[nodiscard]] std::size_t newcomers() override { return meeting_->newcomers(); }
  [[nodiscard]] std::unique_ptr<Transport> admit(const std::string& kind) override {
    std::vector<std::string> addresses;
    for (const std::string& of_rank : gather_texts(lines_of(meeting_->newcomers_of(kind)))) {
      std::istringstream lines(of_rank);
      for (std::string line; std::getline(lines, line);) addresses.push_back(line);
    }
    if (addresses.empty()) return nullptr;
    std::unique_ptr<Transport> admitted;
    try {
      admitted = std::make_unique<SocketTransport>(
          meeting_, meeting_->admit(next_group(0), members_, addresses, has_failed()));
    } catch (const std::runtime_error&) {  // NOLINT(bugprone-empty-catch): all hear of it
    }
    std::vector<std::uint8_t> are_in(members_.size());
    are_in[static_cast<std::size_t>(rank())] = admitted != nullptr ? 1 : 0;
    gather(are_in);
    if (std::find(are_in.begin(), are_in.end(), 0) != are_in.end()) {
      meeting_->dismiss();
      return nullptr;
    }
    meeting_->welcome();
    return admitted;
  }

 private:
  /// Makes a transport of some of these ranks.
  [[nodiscard]] std::unique_ptr<Transport> group_of(std::uint64_t group, std::vector<int> members) {
    return std::make_unique<SocketTransport>(meeting_, group, std::move(members), has_failed());
  }
  /// A rank that has failed has ended its connection here.
  [[nodiscard]] SocketMeeting::HasFailed has_failed() const {
    return [this](int rank) {
      const auto place = std::find(members_.begin(), members_.end(), rank);
      return place != members_.end() && connections_->has_ended(static_cast<int>(place - members_.begin()));
    };
  }
  [[nodiscard]] static std::string lines_of(const std::vector<std::string>& texts) {
    std::string lines;
    for (const std::string& text : texts) lines += text + "\n";
    return lines;
  }
  /// Gathers numbers[rank] of every rank.
  template <class Number>
  void gather(std::vector<Number>& numbers) {
    auto* const bytes = reinterpret_cast<std::byte*>(numbers.data());
    require(all_gather(bytes, sizeof(Number), meeting_->patience()));
  }
  void require(bool all_came) const {
    if (all_came) return;
    throw PeerFailure("kadam::Communicator: some ranks did not make a collective call within " +
                      std::to_string(meeting_->patience().count()) +
                      " s: have they ended, or do they make other calls?");
  }

  [[nodiscard]] std::vector<std::string> gather_texts(const std::string& own) {
    const auto place = static_cast<std::size_t>(rank());
    std::vector<std::uint64_t> lengths(members_.size());
    lengths[place] = own.size();
    gather(lengths);
    const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
    std::vector<std::string> texts(members_.size());
    if (longest == 0) return texts;
    std::string all(members_.size() * longest, ' ');
    all.replace(place * longest, own.size(), own);
    require(all_gather(reinterpret_cast<std::byte*>(all.data()), longest, meeting_->patience()));
    for (std::size_t k = 0; k < texts.size(); ++k) texts[k] = all.substr(k * longest, lengths[k]);
    return texts;
  }

  /// A number for a new group: the same on all of its ranks, since these make groups in the same order, and
  /// no other group's. part: differs for groups that are made in the same call.
  [[nodiscard]] std::uint64_t next_group(std::uint64_t part) {
    return hash_of(std::to_string(group_) + "/" + std::to_string(++groups_made_) + "/" +
                   std::to_string(part));
  }

  std::shared_ptr<SocketMeeting> meeting_;
  std::uint64_t group_;
  std::vector<int> members_;
  std::shared_ptr<SocketConnections> connections_;
  std::uint64_t groups_made_ = 0;
  std::vector<std::byte> gathered_;
};

}  // namespace

std::shared_ptr<Communicator> make_socket_communicator(int rank, int size, const GatherTexts& gather,
                                                       const SocketOptions& options) {
  if (rank < 0 || rank >= size) {
    throw std::invalid_argument("kadam::make_socket_communicator: expected a rank of 0 to " +
                                std::to_string(size - 1) + ", got " + std::to_string(rank));
  }
  const auto meeting = std::make_shared<SocketMeeting>(rank, options);
  std::vector<std::string> addresses = gather(meeting->own_address());
  if (addresses.size() != static_cast<std::size_t>(size)) {
    throw std::invalid_argument("kadam::make_socket_communicator: expected the addresses of " +
                                std::to_string(size) + " ranks, got " + std::to_string(addresses.size()));
  }
  // Ranks of another start have other addresses, so another group.
  const std::uint64_t group = hash_of(std::accumulate(addresses.begin(), addresses.end(), std::string()));
  meeting->meet(std::move(addresses));
  std::vector<int> members(static_cast<std::size_t>(size));
  for (int k = 0; k < size; ++k) members[static_cast<std::size_t>(k)] = k;
  auto made = std::make_shared<Communicator>(
      std::make_unique<SocketTransport>(meeting, group, std::move(members), SocketMeeting::HasFailed()),
      options.exchange);
  made->form_levels(options.ranks_per_node);
  return made;
}

std::shared_ptr<Communicator> make_socket_communicator(Communicator& ranks, const SocketOptions& options) {
  const auto gather = [&](const std::string& own) { return ranks.all_gather_texts(own); };
  return make_socket_communicator(ranks.rank(), ranks.size(), gather, options);
}

std::shared_ptr<Communicator> join_socket_communicator(const std::vector<std::string>& addresses,
                                                       const std::string& kind,
                                                       const SocketOptions& options) {
  const auto meeting = std::make_shared<SocketMeeting>(0, options);
  const double seconds = options.exchange.timeout_seconds;
  SocketMeeting::Reunion joined = meeting->join(addresses, kind, seconds > 0.0 ? Seconds(seconds) : for_ever);
  return std::make_shared<Communicator>(std::make_unique<SocketTransport>(meeting, std::move(joined)),
                                        options.exchange);
}

}  // namespace kadam
