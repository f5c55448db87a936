// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace kadam::test {

/// Plays one rank of n without the others: records what is sent, and answers from a script.
class ScriptedTransport final : public Transport {
 public:
  ScriptedTransport(int rank, int size, bool allows_threads = false)
      : rank_(rank), size_(size), allows_threads_(allows_threads) {}

  /// Messages of this transport and of its later duplicates throw std::runtime_error(words) when they are
  /// moved.
  void will_fail(std::string words) { failure_ = std::move(words); }

  /// Appends an answer to the script: the whole buffer of an all-gather, or a received message. Each
  /// all-gather or receive takes the next answer; without one it leaves its buffer as it is.
  void will_receive(std::vector<std::byte> bytes) { answers_.push_back(std::move(bytes)); }
  /// A message that was sent; for an all-gather `to` is -1.
  struct Sent {
    int to;
    std::vector<std::byte> bytes;
    friend bool operator==(const Sent&, const Sent&) = default;
  };
  /// All of them, in order.
  [[nodiscard]] const std::vector<Sent>& sent() const { return sent_; }
  /// Buffer of the last receive.
  [[nodiscard]] const std::byte* last_target() const { return last_target_; }
  /// Number of receives so far.
  [[nodiscard]] std::size_t receives() const { return receives_; }
  /// Completes one standard send per progress(), instead of all of them at the next one.
  void sends_slowly() { sends_slowly_ = true; }
  /// Largest number of synchronous sends under way at the same time.
  [[nodiscard]] std::size_t most_sending() const { return most_sending_; }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] bool accepts_device_memory() const override { return false; }
  [[nodiscard]] bool allows_threads() const override { return allows_threads_; }
  [[nodiscard]] std::string description() const override { return "scripted"; }

  [[nodiscard]] std::unique_ptr<Messages> messages() override {
    return std::make_unique<ScriptedMessages>(*this);
  }
  bool all_gather(std::byte* all, std::size_t bytes, Seconds /*patience*/) override {
    remember(-1, all + static_cast<std::size_t>(rank_) * bytes, bytes);
    if (answers_.empty()) return true;
    std::memcpy(all, answers_.front().data(), static_cast<std::size_t>(size_) * bytes);
    answers_.pop_front();
    return true;
  }
  std::vector<int> missing_ranks(Seconds /*patience*/) override { return {}; }
  void all_reduce_sum(float* /*values*/, std::size_t /*count*/) override {}
  [[nodiscard]] std::unique_ptr<Transport> duplicate() override {
    auto copy = std::make_unique<ScriptedTransport>(rank_, size_, allows_threads_);
    copy->will_fail(failure_);
    return copy;
  }
  [[nodiscard]] std::unique_ptr<Transport> split(int /*colour*/) override { return duplicate(); }
  [[nodiscard]] std::unique_ptr<Transport> split_by_node() override { return duplicate(); }

 private:
  /// Completes receives and standard sends at the next progress(), and one synchronous send per progress().
  class ScriptedMessages final : public Messages {
   public:
    explicit ScriptedMessages(ScriptedTransport& transport) : transport_(transport) {}
    void send(int to, int /*tag*/, const std::byte* data, std::size_t bytes, SendMode mode,
              std::size_t id) override {
      transport_.remember(to, data, bytes);
      if (mode == SendMode::standard) sent_.push_back(id);
      if (mode == SendMode::synchronous) ++sending_;
      transport_.most_sending_ = std::max(transport_.most_sending_, sending_);
    }
    void receive(int /*from*/, int tag, std::byte* data, std::size_t bytes, std::size_t id) override {
      transport_.answer(data, bytes);
      arrived_.push_back({id, tag});
    }
    /// Every scripted message is piece 0 of the first pair of buffers.
    void receive_any(int from, std::byte* data, std::size_t bytes, std::size_t id) override {
      receive(from, 0, data, bytes, id);
    }
    void progress(Seconds /*patience*/, Done& done) override {
      if (!transport_.failure_.empty()) throw std::runtime_error(transport_.failure_);
      done.arrived.insert(done.arrived.end(), arrived_.begin(), arrived_.end());
      const auto all = static_cast<std::ptrdiff_t>(sent_.size());
      const auto end = sent_.begin() + (transport_.sends_slowly_ ? std::min<std::ptrdiff_t>(1, all) : all);
      done.sent.insert(done.sent.end(), sent_.begin(), end);
      sent_.erase(sent_.begin(), end);
      arrived_.clear();
      if (sending_ > 0) --sending_;
    }
    [[nodiscard]] std::size_t sending() const override { return sending_; }
    [[nodiscard]] std::size_t receiving() const override { return arrived_.size(); }
    void give_up() override {
      arrived_.clear();
      sent_.clear();
      sending_ = 0;
    }

   private:
    ScriptedTransport& transport_;
    std::vector<Arrival> arrived_;
    std::vector<std::size_t> sent_;
    std::size_t sending_ = 0;
  };

  void remember(int to, const std::byte* data, std::size_t bytes) {
    sent_.push_back({to, {data, data + bytes}});
  }
  void answer(std::byte* target, std::size_t bytes) {
    last_target_ = target;
    ++receives_;
    if (answers_.empty()) return;
    std::memcpy(target, answers_.front().data(), std::min(bytes, answers_.front().size()));
    answers_.pop_front();
  }

  int rank_;
  int size_;
  bool allows_threads_;
  std::string failure_;
  std::deque<std::vector<std::byte>> answers_;
  std::vector<Sent> sent_;
  std::size_t most_sending_ = 0;
  std::size_t receives_ = 0;
  bool sends_slowly_ = false;
  const std::byte* last_target_ = nullptr;
};

}  // namespace kadam::test
