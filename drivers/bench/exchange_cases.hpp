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

/// An exchange between all ranks, as an optimizer does it, with its buffers.
struct Exchange {
  std::function<void(const ExecutionSpace&, Communicator&, Phases&)> run;
  std::function<void(const ExecutionSpace&)> prepare = {};  ///< before each run, not timed
};

/// Length of the exchanged vector, and the ranks.
struct Place {
  std::int64_t elements;
  Communicator& communicator;
};

/// An exchange to time. make() allocates its buffers, which live as long as its result. exchange: its name.
struct ExchangeCase {
  std::string exchange;
  std::function<Exchange(const Place&)> make;
};

/// Bound on the memory of any exchange case: bytes per element and rank.
inline constexpr double exchange_bytes_per_element = 32.0;

/// All exchanges: dense ones, compressed ones, sparse ones.
[[nodiscard]] std::vector<ExchangeCase> exchange_cases();

/// Vector lengths to measure: 10^3, 10^4, ..., 10^8 and 2.5 10^7, as long as all ranks together, on one
/// machine, take at most half of the available memory; up to 10^7 if that is not known. 10^3 is always there.
/// Worked number: 4 ranks of 32 bytes per element in 16 GB: up to 2.5 10^7.
[[nodiscard]] std::vector<std::int64_t> default_sizes(std::optional<std::size_t> available_bytes, int ranks);

/// Bytes of memory of this machine that programs may still take; nothing where the system does not tell
/// (Linux does).
[[nodiscard]] std::optional<std::size_t> available_memory_bytes();

/// default_sizes() of the rank with the least memory. Collective.
[[nodiscard]] std::vector<std::int64_t> default_sizes(Communicator& communicator);

}  // namespace kadam::bench
