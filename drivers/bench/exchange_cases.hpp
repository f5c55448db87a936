// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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

/// 10^3 to 10^8 elements and 2.5 10^7, as far as they take no more than half of the memory when all ranks are
/// on one machine; up to 10^7 where nothing is known of the memory. The smallest one always.
/// Worked number: 4 ranks of 32 bytes per element in 16 GB: up to 2.5 10^7.
[[nodiscard]] std::vector<std::int64_t> default_sizes(std::optional<std::size_t> available_bytes, int ranks);

/// What programs may still take; nothing where the system does not tell.
[[nodiscard]] std::optional<std::size_t> available_memory_bytes();

/// default_sizes() of the rank with the least memory. Collective.
[[nodiscard]] std::vector<std::int64_t> default_sizes(Communicator& communicator);

}  // namespace kadam::bench
