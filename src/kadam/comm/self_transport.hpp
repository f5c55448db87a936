// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <cstring>

namespace kadam {

/// The transport of a single rank: nothing is sent.
class SelfTransport final : public Transport {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] bool accepts_device_memory() const override { return false; }
  [[nodiscard]] std::string description() const override { return "one rank, no exchange"; }

  void all_to_all(const std::byte* send, std::span<const Piece> send_pieces, std::byte* receive,
                  std::span<const Piece> receive_pieces) override {
    std::memcpy(receive + receive_pieces[0].offset_bytes, send + send_pieces[0].offset_bytes,
                send_pieces[0].bytes);
  }
  void all_gather(std::byte* /*buffer*/, std::span<const Piece> /*pieces*/) override {}
  void all_reduce_sum(float* /*values*/, std::size_t /*count*/) override {}
};

}  // namespace kadam
