// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bench/measure_exchange.hpp>
#include <bench/wire_limit.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace kadam::bench {

/// An exchange of a vector with what was measured.
struct ExchangeResult {
  std::string exchange;
  std::int64_t elements = 0;
  int ranks = 1;
  ExchangeTiming timing;
  /// What its bytes take at least: those that a rank sent, or on a shared link those that the interface
  /// counted; nothing without a wire, or if they were not counted.
  std::optional<double> wire_limit_seconds;
  std::optional<double> ratio_to_limit;  ///< 1: as fast as the wire carries its bytes, 2: half as fast
};

[[nodiscard]] ExchangeResult result_of(const std::string& exchange, std::int64_t elements, int ranks,
                                       const ExchangeTiming& timing, const std::optional<WireLimit>& wire);

/// For people, a line each, so that a long measurement can be followed.
[[nodiscard]] std::string exchange_table_head();
[[nodiscard]] std::string exchange_table_row(const ExchangeResult& result);
/// For programs: a JSON object and a newline.
[[nodiscard]] std::string json_line_of(const ExchangeResult& result);

}  // namespace kadam::bench
