// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/lone_rank.hpp>
#include <kadam/comm/gathers.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <utility>

namespace kadam::bench {
namespace {

/// Answers a send at once: copies it into the memory of the receive that waits for it.
class MirroredMessages final : public Messages {
 public:
  MirroredMessages(int ranks, SentMessages::Kind kind, std::shared_ptr<SentMessages> sent)
      : kind_(kind), sent_(std::move(sent)), expected_(static_cast<std::size_t>(ranks)) {}

  void send(int to, int tag, const std::byte* data, std::size_t bytes, SendMode /*mode*/,
            std::size_t id) override {
    sent_->add(kind_, bytes);
    done_.sent.push_back(id);
    std::deque<Expected>& from = expected_[static_cast<std::size_t>(to)];
    const auto one =
        std::find_if(from.begin(), from.end(), [&](const Expected& each) { return each.tag == tag; });
    if (one == from.end()) return;
    if (one->bytes == bytes) {
      std::memcpy(one->data, data, bytes);
    } else {
      std::memset(one->data, 0, one->bytes);
    }
    done_.arrived.push_back({one->id, tag});
    from.erase(one);
    --receiving_;
  }

  void receive(int from, int tag, std::byte* data, std::size_t bytes, std::size_t id) override {
    expected_[static_cast<std::size_t>(from)].push_back({tag, data, bytes, id});
    ++receiving_;
  }

  void receive_any(int /*from*/, std::byte* /*data*/, std::size_t /*bytes*/, std::size_t /*id*/) override {
    throw std::logic_error("kadam-bench: a lone rank stages nothing");
  }

  /// Answers receives without a matching send with zeros, once the rank has nothing left to do: it waits, or
  /// it has polled in vain for a while.
  void progress(Seconds patience, Done& done) override {
    constexpr int in_vain = 64;
    idle_ = done_.empty() ? idle_ + 1 : 0;
    if (done_.empty() && (patience > Seconds(0.0) || idle_ > in_vain)) answer_with_zeros();
    done.arrived.insert(done.arrived.end(), done_.arrived.begin(), done_.arrived.end());
    done.sent.insert(done.sent.end(), done_.sent.begin(), done_.sent.end());
    done_.clear();
  }

  [[nodiscard]] std::size_t sending() const override { return done_.sent.size(); }
  [[nodiscard]] std::size_t receiving() const override { return receiving_ + done_.arrived.size(); }

  void give_up() override {
    for (std::deque<Expected>& from : expected_) from.clear();
    done_.clear();
    receiving_ = 0;
  }

 private:
  struct Expected {
    int tag;
    std::byte* data;
    std::size_t bytes;
    std::size_t id;
  };

  void answer_with_zeros() {
    for (std::deque<Expected>& from : expected_) {
      for (const Expected& one : from) {
        std::memset(one.data, 0, one.bytes);
        done_.arrived.push_back({one.id, one.tag});
      }
      from.clear();
    }
    receiving_ = 0;
  }

  SentMessages::Kind kind_;
  std::shared_ptr<SentMessages> sent_;
  std::vector<std::deque<Expected>> expected_;  ///< of each rank, in the order in which they were announced
  std::size_t receiving_ = 0;
  Done done_;
  int idle_ = 0;
};

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  messages += other.messages;
  bytes += other.bytes;
  longest_bytes = std::max(longest_bytes, other.longest_bytes);
  return *this;
}

void SentMessages::add(Kind kind, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  tallies_[static_cast<std::size_t>(kind)] += {1, bytes, bytes};
}

void SentMessages::forget() {
  const std::lock_guard<std::mutex> lock(mutex_);
  tallies_.fill({});
}

Tally SentMessages::of(Kind kind) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tallies_[static_cast<std::size_t>(kind)];
}

LoneRankTransport::LoneRankTransport(int rank, int ranks, std::shared_ptr<SentMessages> sent,
                                     int ranks_per_node)
    : rank_(rank), ranks_(ranks), ranks_per_node_(ranks_per_node), sent_(std::move(sent)) {
  if (ranks % ranks_per_node != 0)
    throw std::invalid_argument(
        "kadam-bench: the number of ranks per node does not divide the number of ranks");
}

std::string LoneRankTransport::description() const {
  return "one of " + std::to_string(ranks_) + " ranks alone";
}

std::unique_ptr<Messages> LoneRankTransport::messages() {
  return std::make_unique<MirroredMessages>(ranks_, kind_, sent_);
}

bool LoneRankTransport::all_gather(std::byte* all, std::size_t bytes, Seconds patience) {
  MirroredMessages own(ranks_, SentMessages::Kind::agreement, sent_);
  if (!gather_by_messages(own, rank_, ranks_, all, bytes, patience, gathered_)) return false;
  // Its messages come from others than those that it sends to: no mirror has answered them.
  const std::byte* const said = all + static_cast<std::size_t>(rank_) * bytes;
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) std::memcpy(all + static_cast<std::size_t>(r) * bytes, said, bytes);
  }
  return true;
}

std::unique_ptr<LoneRankTransport> LoneRankTransport::part(int rank, int ranks,
                                                           SentMessages::Kind kind) const {
  auto transport = std::make_unique<LoneRankTransport>(rank, ranks, sent_);
  transport->kind_ = kind;
  return transport;
}

std::unique_ptr<Transport> LoneRankTransport::duplicate() {
  return part(rank_, ranks_, kind_);
}

std::unique_ptr<Transport> LoneRankTransport::split(int /*colour*/) {
  return part(rank_ / ranks_per_node_, ranks_ / ranks_per_node_, SentMessages::Kind::exchange);
}

std::unique_ptr<Transport> LoneRankTransport::split_by_node() {
  return part(rank_ % ranks_per_node_, ranks_per_node_, SentMessages::Kind::in_node);
}

}  // namespace kadam::bench
