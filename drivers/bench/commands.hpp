// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bench/exchange_cases.hpp>
#include <bench/exchange_results.hpp>
#include <launch/command_line.hpp>
#include <launch/session.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace kadam::bench {

/// Whether a name contains one of the texts of --only; true without texts.
[[nodiscard]] inline bool is_wanted(const std::string& name, const std::vector<std::string>& only) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& text) {
           return name.find(text) != std::string::npos;
         });
}

/// Prints a part of a table at once, although more rows follow.
inline void print_now(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

/// The optimizers whose names contain a text of --only. Errors: launch::UsageError if there are none.
[[nodiscard]] std::vector<std::string> wanted_optimizers(const std::vector<std::string>& only);

/// kadam-bench kernels: the fraction of the memory's speed that each kernel reaches.
class KernelsCommand {
 public:
  /// The program writes into this object when it reads its command line.
  explicit KernelsCommand(launch::Options& program);
  KernelsCommand(const KernelsCommand&) = delete;
  KernelsCommand& operator=(const KernelsCommand&) = delete;

  [[nodiscard]] bool is_chosen() const;
  /// Returns the exit code. Errors: launch::UsageError on more than one rank.
  [[nodiscard]] int run(const launch::Session& session) const;

  /// Reads --threads before the session exists, because Kokkos starts its threads before the command line is
  /// read. A value that is not a number is refused later, there.
  static void set_threads(int argc, char** argv);

 private:
  launch::Options options_;
  std::int64_t elements_ = std::int64_t{1} << 26;
  int repetitions_ = 21;
  int threads_ = 0;
  std::vector<std::string> only_;
  bool json_ = false;
};

/// kadam-bench exchange: the time of exchanges between ranks, beside the time of their bytes on a wire.
class ExchangeCommand {
 public:
  /// The program writes into this object when it reads its command line.
  explicit ExchangeCommand(launch::Options& program);
  ExchangeCommand(const ExchangeCommand&) = delete;
  ExchangeCommand& operator=(const ExchangeCommand&) = delete;

  [[nodiscard]] bool is_chosen() const;
  /// Returns the exit code. Errors: launch::Refused on one rank, or if --only matches nothing. Collective.
  [[nodiscard]] int run(const launch::Session& session) const;

 private:
  [[nodiscard]] std::vector<ExchangeCase> wanted_cases() const;
  /// The wire of --rate and --latency; nothing without --rate. Errors: launch::UsageError.
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

/// kadam-bench steps: the time of a whole step of each optimizer, and its calls of Kokkos.
class StepsCommand {
 public:
  /// The program writes into this object when it reads its command line.
  explicit StepsCommand(launch::Options& program);
  StepsCommand(const StepsCommand&) = delete;
  StepsCommand& operator=(const StepsCommand&) = delete;

  [[nodiscard]] bool is_chosen() const;
  /// Returns the exit code. Errors: launch::Refused if --only matches nothing, or for tensors that
  /// alternating_tensors() refuses. Collective.
  [[nodiscard]] int run(const launch::Session& session) const;

 private:
  launch::Options options_;
  std::int64_t elements_ = std::int64_t{1} << 26;
  std::vector<std::int64_t> tensors_ = {1, 400};
  std::int64_t rows_ = 0;
  std::vector<std::string> only_;
  int repetitions_ = 21;
  int seconds_ = 300;
  bool json_ = false;
};

/// kadam-bench growth: the bytes that one rank of many sends and holds, and its kernels' time, without the
/// others.
class GrowthCommand {
 public:
  /// The program writes into this object when it reads its command line.
  explicit GrowthCommand(launch::Options& program);
  GrowthCommand(const GrowthCommand&) = delete;
  GrowthCommand& operator=(const GrowthCommand&) = delete;

  [[nodiscard]] bool is_chosen() const;
  /// Returns the exit code. Errors: launch::Refused on several ranks or a device, if --only matches nothing,
  /// or if ranks_per_node does not divide a number of ranks.
  [[nodiscard]] int run(const launch::Session& session) const;

 private:
  launch::Options options_;
  std::int64_t elements_ = std::int64_t{1} << 20;
  std::vector<std::int64_t> ranks_ = {2, 4, 8, 16, 32, 64, 128, 256};
  int ranks_per_node_ = 1;
  int steps_ = 8;
  int repetitions_ = 3;
  std::vector<std::string> only_;
  bool json_ = false;
};

}  // namespace kadam::bench
