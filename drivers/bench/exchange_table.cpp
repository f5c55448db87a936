// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/exchange_results.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kadam::bench {
namespace {

constexpr const char* row_format =
    "{:<28} {:>10} {:>11} {:>7} {:>5} {:>10} {:>11} {:>7} {:>10} {:>10} {:>10}\n";

std::string milliseconds_text(double seconds) {
  return fmt::format("{:.3f}", 1e3 * seconds);
}

std::string megabytes_text(double bytes) {
  return fmt::format("{:.4g}", bytes / 1e6);
}

nlohmann::json value_or_null(const auto& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace

ExchangeResult result_of(const std::string& exchange, std::int64_t elements, int ranks,
                         const ExchangeTiming& timing, const std::optional<WireLimit>& wire) {
  ExchangeResult result = {exchange, elements, ranks, timing, 0.0, std::nullopt, std::nullopt};
  if (!wire) return result;
  const auto bytes = wire->is_shared ? timing.interface_bytes : std::optional(timing.bytes_sent);
  if (!bytes) return result;
  const double limit = wire->seconds(*bytes);
  result.wire_limit_seconds = limit;
  if (limit > 0.0) result.ratio_to_limit = timing.seconds.median / limit;
  return result;
}

std::string exchange_table_head() {
  return fmt::format(fmt::runtime(row_format), "exchange", "elements", "ms", "spread", "runs", "MB sent",
                     "limit ms", "ratio", "encode", "exchange", "decode");
}

std::string exchange_table_row(const ExchangeResult& result) {
  const ExchangeTiming& timing = result.timing;
  const auto& limit = result.wire_limit_seconds;
  const auto& ratio = result.ratio_to_limit;
  return fmt::format(
      fmt::runtime(row_format), result.exchange, result.elements, milliseconds_text(timing.seconds.median),
      fmt::format("{:.1f} %", 100.0 * timing.seconds.spread), timing.repetitions,
      megabytes_text(static_cast<double>(timing.bytes_sent)), limit ? milliseconds_text(*limit) : "-",
      ratio ? fmt::format("{:.2f}", *ratio) : "-", milliseconds_text(timing.encode_seconds),
      milliseconds_text(timing.exchange_seconds), milliseconds_text(timing.decode_seconds));
}

std::string json_line_of(const ExchangeResult& result) {
  const ExchangeTiming& timing = result.timing;
  const nlohmann::ordered_json line = {{"exchange", result.exchange},
                                       {"elements", result.elements},
                                       {"ranks", result.ranks},
                                       {"seconds", timing.seconds.median},
                                       {"spread", timing.seconds.spread},
                                       {"repetitions", timing.repetitions},
                                       {"bytes_sent", timing.bytes_sent},
                                       {"node_bytes_sent", timing.node_bytes_sent},
                                       {"interface_bytes", value_or_null(timing.interface_bytes)},
                                       {"wire_limit_seconds", value_or_null(result.wire_limit_seconds)},
                                       {"ratio_to_limit", value_or_null(result.ratio_to_limit)},
                                       {"round_trip_seconds", result.round_trip_seconds},
                                       {"encode_seconds", timing.encode_seconds},
                                       {"exchange_seconds", timing.exchange_seconds},
                                       {"decode_seconds", timing.decode_seconds}};
  return line.dump() + "\n";
}

}  // namespace kadam::bench
