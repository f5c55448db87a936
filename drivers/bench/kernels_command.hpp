// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <launch/command_line.hpp>
#include <launch/session.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kadam::bench {

/// kadam-bench kernels: what the kernels reach of the memory's speed.
class KernelsCommand {
 public:
  /// The program writes into this object when it reads its command line.
  explicit KernelsCommand(launch::Options& program);
  KernelsCommand(const KernelsCommand&) = delete;
  KernelsCommand& operator=(const KernelsCommand&) = delete;

  [[nodiscard]] bool is_chosen() const;
  /// The exit code. Errors: launch::UsageError on more than one rank.
  [[nodiscard]] int run(const launch::Session& session) const;

  /// Kokkos starts its threads before the command line is read. What is no number is refused there.
  static void set_threads(int argc, char** argv);

 private:
  launch::Options options_;
  std::int64_t elements_ = std::int64_t{1} << 26;
  int repetitions_ = 21;
  int threads_ = 0;
  std::vector<std::string> only_;
  bool json_ = false;
};

}  // namespace kadam::bench
