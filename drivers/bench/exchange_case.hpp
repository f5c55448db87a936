// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kadam::bench {

/// An exchange with its buffers, between all ranks and as the optimizers use it.
struct Exchange {
  std::function<void(const ExecutionSpace&, Communicator&, Phases&)> run;
  std::function<void(const ExecutionSpace&)> prepare = {};  ///< before each run, not timed
};

/// How much is exchanged, and between whom.
struct Place {
  std::int64_t elements;
  Communicator& communicator;
};

/// An exchange that is timed. Its buffers are there only while it is.
struct ExchangeCase {
  std::string exchange;
  std::function<Exchange(const Place&)> make;
};

/// Bytes that no exchange needs more of, per element and rank.
inline constexpr double exchange_bytes_per_element = 32.0;

/// All exchanges: dense ones, compressed ones, sparse ones.
[[nodiscard]] std::vector<ExchangeCase> exchange_cases();

}  // namespace kadam::bench
