// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/exchange_results.hpp>
#include <kadam/comm/exchange.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace kadam::bench {
namespace {

/// Figures of one run: the largest or the mean over all ranks.
struct Sample {
  double seconds = 0.0;
  double encode = 0.0;
  double exchange = 0.0;
  double decode = 0.0;
  double bytes_sent = 0.0;
  double node_bytes_sent = 0.0;
  double interface_bytes = 0.0;
};

std::size_t node_bytes(const Communicator& communicator) {
  return communicator.bytes_sent().sent(Traffic::node);
}

std::size_t payload_bytes(const Communicator& communicator) {
  return communicator.bytes_sent().between_nodes() - communicator.bytes_sent().sent(Traffic::control);
}

/// Value k of every rank, in rank order.
std::vector<double> value_of_ranks(const std::vector<double>& all, std::size_t values, std::size_t k) {
  std::vector<double> one;
  one.reserve(all.size() / values);
  for (std::size_t i = k; i < all.size(); i += values) one.push_back(all[i]);
  return one;
}

double largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Returns when all ranks are here.
void meet(Communicator& communicator) {
  const double nothing = 0.0;
  (void)communicator.all_gather_values({&nothing, 1});
}

Sample run_once(const ExecutionSpace& exec, const Exchange& exchange, Communicator& communicator,
                bool counts_interface_bytes, bool times_phases) {
  Phases phases;
  phases.measure(times_phases);
  if (exchange.prepare) exchange.prepare(exec);
  exec.fence("kadam-bench: ready");
  meet(communicator);
  const std::size_t on_interface = interface_bytes().value_or(0);
  const std::size_t sent = payload_bytes(communicator);
  const std::size_t in_node = node_bytes(communicator);
  const Kokkos::Timer timer;
  exchange.run(exec, communicator, phases);
  exec.fence("kadam-bench: done");
  const auto in_phase = [&](Phase phase) { return phases.seconds()[static_cast<std::size_t>(phase)]; };
  const std::array<double, 6> own = {timer.seconds(),
                                     in_phase(Phase::encode),
                                     in_phase(Phase::exchange),
                                     in_phase(Phase::decode),
                                     static_cast<double>(payload_bytes(communicator) - sent),
                                     static_cast<double>(node_bytes(communicator) - in_node)};
  const std::vector<double> all = communicator.all_gather_values(own);
  const auto of_ranks = [&](std::size_t k) { return value_of_ranks(all, own.size(), k); };
  Sample sample = {largest(of_ranks(0)),
                   mean(of_ranks(1)),
                   mean(of_ranks(2)),
                   mean(of_ranks(3)),
                   largest(of_ranks(4)),
                   largest(of_ranks(5)),
                   0.0};
  if (counts_interface_bytes) {  // all have received what this rank sent
    const auto more = static_cast<double>(interface_bytes().value_or(0) - on_interface);
    sample.interface_bytes = largest(communicator.all_gather_values({&more, 1}));
  }
  return sample;
}

/// Seconds of each round trip, measured on this rank.
std::vector<double> round_trips(Communicator& communicator, int other, int repetitions) {
  const ExecutionSpace exec;
  const auto numbers = allocate_zeros<double>(exec, "kadam-bench::round_trip", 2);
  const auto all = kadam::bytes_of(numbers);
  const ExchangeBuffers buffers{all.first(sizeof(double)), all.last(sizeof(double))};
  const Piece whole{0, sizeof(double)};
  kadam::Exchange exchange(exec, communicator, Traffic::control, {&buffers, 1});
  const auto wait = [&] {
    while (exchange.arrivals(true).empty()) continue;
  };
  std::vector<double> seconds;
  for (std::size_t number = 0; number <= static_cast<std::size_t>(repetitions); ++number) {
    exchange.receive(0, other, number, whole, number);
    const Kokkos::Timer timer;
    if (other == 0) wait();
    exchange.send(0, other, number, whole);
    if (other != 0) wait();
    if (number > 0) seconds.push_back(timer.seconds());
  }
  while (exchange.sending() > 0) (void)exchange.arrivals(true);
  return seconds;
}

/// One member of all samples.
Timing timing_of(const std::vector<Sample>& samples, double Sample::*member) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample& sample : samples) values.push_back(sample.*member);
  return Timing::of(std::move(values));
}

ExchangeTiming timing_of(const std::vector<Sample>& samples) {
  ExchangeTiming timing;
  timing.seconds = timing_of(samples, &Sample::seconds);
  timing.repetitions = static_cast<int>(samples.size());
  timing.encode_seconds = timing_of(samples, &Sample::encode).median;
  timing.exchange_seconds = timing_of(samples, &Sample::exchange).median;
  timing.decode_seconds = timing_of(samples, &Sample::decode).median;
  timing.bytes_sent = static_cast<std::size_t>(samples.front().bytes_sent);
  timing.node_bytes_sent = static_cast<std::size_t>(samples.front().node_bytes_sent);
  return timing;
}

}  // namespace

ExchangeTiming measure_exchange(const Exchange& exchange, Communicator& communicator, const Effort& effort,
                                const std::function<void(int)>& progress) {
  const ExecutionSpace exec;
  const auto run_with = [&](bool times_phases) {
    return run_once(exec, exchange, communicator, effort.counts_interface_bytes, times_phases);
  };
  const auto run = [&] { return run_with(!effort.times_phases_apart); };
  progress(0);
  std::vector<Sample> samples = {run()};
  double spent = samples.front().seconds;  // all ranks know the same seconds and decide the same
  for (int done = 0; done < effort.repetitions && spent + samples.back().seconds <= effort.seconds; ++done) {
    progress(done);
    const Sample sample = run();
    spent += sample.seconds;
    if (done == 0) samples.clear();
    samples.push_back(sample);
  }
  ExchangeTiming timing = timing_of(samples);
  if (effort.times_phases_apart && spent + samples.back().seconds <= effort.seconds) {
    const Sample apart = run_with(true);
    spent += apart.seconds;
    timing.encode_seconds = apart.encode;
    timing.exchange_seconds = apart.exchange;
    timing.decode_seconds = apart.decode;
  }
  timing.spent_seconds = spent;
  if (effort.counts_interface_bytes && interface_bytes())
    timing.interface_bytes = static_cast<std::size_t>(timing_of(samples, &Sample::interface_bytes).median);
  return timing;
}

double measure_round_trip(Communicator& communicator, int repetitions) {
  const int rank = communicator.rank();
  const int last = communicator.size() - 1;
  if (last == 0) return 0.0;
  meet(communicator);
  std::vector<double> seconds = {0.0};
  if (rank == 0 || rank == last) seconds = round_trips(communicator, last - rank, repetitions);
  const double own = Timing::of(std::move(seconds)).median;
  return communicator.all_gather_values({&own, 1}).front();
}

std::optional<std::size_t> interface_bytes() {
  std::ifstream table("/proc/net/dev");
  if (!table) return std::nullopt;
  return sum_of_sent_bytes(table);
}

std::size_t sum_of_sent_bytes(std::istream& table) {
  std::size_t sum = 0;
  std::string line;
  while (std::getline(table, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;  // a heading
    std::istringstream name_stream(line.substr(0, colon));
    std::string name;
    name_stream >> name;
    if (name == "lo") continue;
    std::istringstream fields(line.substr(colon + 1));
    constexpr int sent_bytes = 8;  // after eight fields of what was received
    std::size_t value = 0;
    for (int field = 0; field <= sent_bytes; ++field) fields >> value;
    if (fields) sum += value;
  }
  return sum;
}

}  // namespace kadam::bench
