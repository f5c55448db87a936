// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

namespace kadam {

/// The transport of a single rank: nothing is sent.
class SelfTransport final : public Transport {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] bool accepts_device_memory() const override { return false; }
  [[nodiscard]] bool allows_threads() const override { return true; }
  [[nodiscard]] std::string description() const override { return "one rank, no exchange"; }

  [[nodiscard]] std::unique_ptr<Messages> messages() override { return std::make_unique<NoMessages>(); }
  void all_gather(std::byte* /*all*/, std::size_t /*bytes*/) override {}
  void all_reduce_sum(float* /*values*/, std::size_t /*count*/) override {}

  [[nodiscard]] std::unique_ptr<Transport> duplicate() override { return std::make_unique<SelfTransport>(); }
  [[nodiscard]] std::unique_ptr<Transport> split(int /*colour*/) override { return duplicate(); }
  [[nodiscard]] std::unique_ptr<Transport> split_by_node() override { return duplicate(); }

 private:
  /// There is nobody to send to.
  class NoMessages final : public Messages {
   public:
    void send(int /*to*/, int /*tag*/, const std::byte* /*data*/, std::size_t /*bytes*/,
              SendMode /*mode*/) override {}
    void receive(int /*from*/, int /*tag*/, std::byte* /*data*/, std::size_t /*bytes*/,
                 std::size_t /*id*/) override {}
    void progress(bool /*wait*/, std::vector<std::size_t>& /*arrived*/) override {}
    [[nodiscard]] std::size_t sending() const override { return 0; }
    void give_up() override {}
  };
};

}  // namespace kadam
