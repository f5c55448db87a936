// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace kadam::test {

/// Plays one rank of n without the others: remembers what was sent, answers what the script says.
class ScriptedTransport final : public Transport {
 public:
  ScriptedTransport(int rank, int size) : rank_(rank), size_(size) {}

  /// What the next exchange will find in its receive buffer, all pieces in a row.
  void will_receive(std::vector<std::byte> bytes) { answers_.push_back(std::move(bytes)); }
  [[nodiscard]] const std::vector<std::vector<std::byte>>& sent() const { return sent_; }
  [[nodiscard]] const std::byte* last_target() const { return last_target_; }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] bool accepts_device_memory() const override { return false; }
  [[nodiscard]] std::string description() const override { return "scripted"; }

  void all_to_all(const std::byte* send, std::span<const Piece> send_pieces, std::byte* receive,
                  std::span<const Piece> receive_pieces) override {
    remember(send, send_pieces);
    answer(receive, receive_pieces);
  }
  void all_gather(std::byte* buffer, std::span<const Piece> pieces) override {
    remember(buffer, pieces.subspan(static_cast<std::size_t>(rank_), 1));
    answer(buffer, pieces);
  }
  void all_reduce_sum(float* /*values*/, std::size_t /*count*/) override {}

 private:
  void remember(const std::byte* data, std::span<const Piece> pieces) {
    std::vector<std::byte> bytes;
    for (const Piece& piece : pieces) {
      bytes.insert(bytes.end(), data + piece.offset_bytes, data + piece.offset_bytes + piece.bytes);
    }
    sent_.push_back(std::move(bytes));
  }
  void answer(std::byte* target, std::span<const Piece> pieces) {
    last_target_ = target;
    if (answers_.empty()) return;
    const std::vector<std::byte> bytes = std::move(answers_.front());
    answers_.pop_front();
    std::size_t taken = 0;
    for (const Piece& piece : pieces) {
      std::memcpy(target + piece.offset_bytes, bytes.data() + taken, piece.bytes);
      taken += piece.bytes;
    }
  }

  int rank_;
  int size_;
  std::deque<std::vector<std::byte>> answers_;
  std::vector<std::vector<std::byte>> sent_;
  const std::byte* last_target_ = nullptr;
};

}  // namespace kadam::test
