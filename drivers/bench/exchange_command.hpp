// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bench/exchange_case.hpp>
#include <bench/wire_limit.hpp>
#include <launch/command_line.hpp>
#include <launch/session.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kadam::bench {

/// kadam-bench exchange: what the exchanges between ranks take, beside what their bytes take on a wire.
class ExchangeCommand {
 public:
  /// The program writes into this object when it reads its command line.
  explicit ExchangeCommand(launch::Options& program);
  ExchangeCommand(const ExchangeCommand&) = delete;
  ExchangeCommand& operator=(const ExchangeCommand&) = delete;

  [[nodiscard]] bool is_chosen() const;
  /// The exit code. Errors: launch::Refused on one rank, or when nothing is wanted. Collective.
  [[nodiscard]] int run(const launch::Session& session) const;

 private:
  [[nodiscard]] std::vector<ExchangeCase> wanted_cases() const;
  /// Errors: launch::UsageError.
  [[nodiscard]] std::optional<WireLimit> wire() const;
  void measure_all(const launch::Session& session, const std::vector<ExchangeCase>& cases,
                   const std::vector<std::int64_t>& sizes, const std::optional<WireLimit>& limit) const;

  launch::Options options_;
  std::vector<std::int64_t> elements_;
  std::vector<std::string> only_;
  int repetitions_ = 21;
  int seconds_ = 300;
  std::string rate_;
  std::string latency_;
  bool counts_interface_bytes_ = false;
  bool json_ = false;
};

}  // namespace kadam::bench
