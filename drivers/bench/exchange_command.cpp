// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/commands.hpp>
#include <bench/exchange_cases.hpp>
#include <bench/exchange_results.hpp>
#include <kadam/version.hpp>
#include <launch/progress.hpp>
#include <launch/quantities.hpp>
#include <launch/session.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace kadam::bench {
namespace {

std::string heading(int ranks, double round_trip, const std::optional<WireLimit>& wire) {
  std::string text = fmt::format("Kadam {}: {} ranks of {}, a message there and back: {:.3g} ms",
                                 KADAM_VERSION_STRING, ranks, launch::computes_with(), 1e3 * round_trip);
  if (wire) {
    text += fmt::format(", limit: {:g} Mbit/s and {:g} ms for the bytes that a {} sends",
                        wire->bits_per_second / 1e6, 1e3 * wire->latency_seconds,
                        wire->is_shared ? "host" : "rank");
  }
  return text + "\n\n" + exchange_table_head();
}

/// Several ranks on each of several hosts. On one host there is no link: each rank is given one of its own.
bool shares_links(Communicator& communicator) {
  const int on_this_host = communicator.split_by_node()->size();
  return on_this_host > 1 && on_this_host < communicator.size();
}

}  // namespace

ExchangeCommand::ExchangeCommand(launch::Options& program)
    : options_(program.add_command(
          "exchange",
          "Measures every exchange between ranks: seconds, bytes, ratio to the limit of the wire.",
          "mpirun -n RANKS kadam-bench exchange [--elements LIST] [--rate RATE] [--json]")) {
  options_
      .add("--elements", "LIST", elements_,
           "elements of a vector; several sizes as in 1000,1000000\n"
           "(default: 1000 to 100000000, as far as memory allows)")
      .comma_separated()
      .range(std::int64_t{1}, std::int64_t{1} << 33);
  options_.add("--only", "TEXT", only_, "only exchanges with this text in their name; may be repeated")
      .repeatable();
  options_.add("--repetitions", "N", repetitions_, "runs of each exchange; the median counts (default 21)")
      .range(1, 100000);
  options_
      .add("--seconds", "S", seconds_,
           "seconds for all runs: long exchanges are repeated less often,\nbut run at least once (default "
           "300)")
      .range(1, 1000000);
  options_.add("--rate", "RATE", rate_,
               "rate of each host's link, as in 100mbit, which is the limit; if\n"
               "ranks share a link, it needs --interface-bytes");
  options_.add("--latency", "TIME", latency_, "latency of the link, as in 200us (default 0); needs --rate");
  options_.add_flag("--interface-bytes", counts_interface_bytes_,
                    "also counts the bytes that this machine's network interfaces send\n(shown with --json)");
  options_.add_flag("--json", json_, "prints one JSON object per line instead of the table");
}

bool ExchangeCommand::is_chosen() const {
  return options_.is_chosen();
}

std::vector<ExchangeCase> ExchangeCommand::wanted_cases() const {
  std::vector<ExchangeCase> cases = exchange_cases();
  std::string names;
  for (const ExchangeCase& one : cases) names += (names.empty() ? "" : "; ") + one.exchange;
  std::erase_if(cases, [&](const ExchangeCase& one) { return !is_wanted(one.exchange, only_); });
  if (cases.empty()) {
    throw launch::UsageError(
        fmt::format("no exchange has '{}' in its name; the names are {}", only_.front(), names));
  }
  return cases;
}

std::optional<WireLimit> ExchangeCommand::wire() const {
  if (rate_.empty() && !latency_.empty()) throw launch::UsageError("--latency needs --rate as well");
  if (rate_.empty()) return std::nullopt;
  return WireLimit{8.0 * launch::rate_of("--rate", rate_),
                   latency_.empty() ? 0.0 : launch::seconds_of("--latency", latency_)};
}

int ExchangeCommand::run(const launch::Session& session) const {
  std::vector<ExchangeCase> cases;
  std::optional<WireLimit> limit;
  session.prepare([&] {
    if (session.communicator()->size() == 1) {
      throw launch::UsageError(
          "an exchange needs 2 ranks or more: start mpirun -n RANKS kadam-bench exchange");
    }
    limit = wire();
    cases = wanted_cases();
  });
  if (limit) limit->is_shared = shares_links(*session.communicator());
  measure_all(session, cases, elements_.empty() ? default_sizes(*session.communicator()) : elements_, limit);
  return launch::exit_success;
}

void ExchangeCommand::measure_all(const launch::Session& session, const std::vector<ExchangeCase>& cases,
                                  const std::vector<std::int64_t>& sizes,
                                  const std::optional<WireLimit>& limit) const {
  Communicator& communicator = *session.communicator();
  constexpr int round_trips = 21;
  const double round_trip = measure_round_trip(communicator, round_trips);
  if (session.is_root() && !json_) print_now(heading(communicator.size(), round_trip, limit));
  launch::TransientLine line(session.is_root());
  std::size_t left = cases.size() * sizes.size();
  double seconds = seconds_;  // that are left
  for (const std::int64_t elements : sizes) {
    for (const ExchangeCase& one : cases) {
      const Exchange exchange = one.make({elements, communicator});
      const Effort effort = {repetitions_, seconds / static_cast<double>(left), counts_interface_bytes_};
      const ExchangeTiming timing = measure_exchange(exchange, communicator, effort, [&](int repetition) {
        line.says(fmt::format("{}, {} elements: run {}", one.exchange, elements, repetition + 1));
      });
      line.clear();
      seconds = std::max(0.0, seconds - timing.spent_seconds);
      --left;
      auto result = result_of(one.exchange, elements, communicator.size(), timing, limit);
      result.round_trip_seconds = round_trip;
      if (session.is_root()) print_now(json_ ? json_line_of(result) : exchange_table_row(result));
    }
  }
}

}  // namespace kadam::bench
