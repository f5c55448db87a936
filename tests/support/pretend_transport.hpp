// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace kadam::test {

/// Plays rank 0 of n ranks. In an all-gather all other ranks contribute what rank 0 does: enough to make an
/// optimizer for any n.
class PretendTransport final : public Transport {
 public:
  explicit PretendTransport(int size) : size_(size) {}

  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] bool accepts_device_memory() const override { return true; }
  [[nodiscard]] bool allows_threads() const override { return true; }
  [[nodiscard]] std::string description() const override { return "pretended"; }

  /// There are none: no test takes a step.
  [[nodiscard]] std::unique_ptr<Messages> messages() override { return nullptr; }
  bool all_gather(std::byte* all, std::size_t bytes, Seconds /*patience*/) override {
    for (int r = 1; r < size_; ++r) std::memcpy(all + static_cast<std::size_t>(r) * bytes, all, bytes);
    return true;
  }
  std::vector<int> missing_ranks(Seconds /*patience*/) override { return {}; }
  void all_reduce_sum(float* /*values*/, std::size_t /*count*/) override {}
  [[nodiscard]] std::unique_ptr<Transport> duplicate() override {
    return std::make_unique<PretendTransport>(size_);
  }
  [[nodiscard]] std::unique_ptr<Transport> split(int /*colour*/) override { return duplicate(); }
  [[nodiscard]] std::unique_ptr<Transport> split_by_node() override { return duplicate(); }

 private:
  int size_;
};

}  // namespace kadam::test
