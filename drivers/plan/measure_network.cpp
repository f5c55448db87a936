// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <plan/measure_network.hpp>
#include <vector>

namespace kadam::plan_program {
namespace {

/// An all-to-all and an all-gather of as many bytes: what compressed and dense means consist of.
class TwoWayExchange {
 public:
  TwoWayExchange(Communicator& communicator, std::size_t piece_bytes)
      : communicator_(communicator),
        bytes_(exec_, piece_bytes * static_cast<std::size_t>(communicator.size())) {
    for (std::size_t r = 0; r < static_cast<std::size_t>(communicator.size()); ++r) {
      pieces_.push_back({r * piece_bytes, piece_bytes});
    }
  }

  /// Seconds of one of the two, the slowest rank's, in the mean of `times` runs.
  double seconds(int times) {
    (void)slowest(0.0);  // all start together
    const Kokkos::Timer timer;
    for (int k = 0; k < times; ++k) {
      communicator_.all_to_all(exec_, Traffic::control, bytes_.send(), pieces_, bytes_.receive(), pieces_);
      communicator_.all_gather(exec_, Traffic::control, bytes_.receive(), pieces_);
    }
    return slowest(timer.seconds()) / (2.0 * times);
  }

 private:
  /// Device memory where there is a device: what training sends.
  struct Buffers {
    Buffers(const ExecutionSpace& exec, std::size_t size)
        : sent(allocate_zeros<std::byte>(exec, "kadam-plan::sent", static_cast<std::int64_t>(size))),
          received(allocate_zeros<std::byte>(exec, "kadam-plan::received", static_cast<std::int64_t>(size))) {
    }
    [[nodiscard]] std::span<const std::byte> send() const { return {sent.data(), sent.size()}; }
    [[nodiscard]] std::span<std::byte> receive() const { return {received.data(), received.size()}; }
    Vector<std::byte> sent;
    Vector<std::byte> received;
  };

  double slowest(double own) {
    const std::vector<double> all = communicator_.all_gather_values({&own, 1});
    return *std::max_element(all.begin(), all.end());
  }

  ExecutionSpace exec_;
  Communicator& communicator_;
  Buffers bytes_;
  std::vector<Piece> pieces_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Of an exchange of 8 bytes.
double empty_seconds(Communicator& communicator) {
  constexpr int rounds = 9;
  TwoWayExchange exchange(communicator, 8);
  (void)exchange.seconds(1);
  // As many as fit in about 0.3 s in all; agreed on, because slowest() is what all ranks see.
  const int times = std::clamp(static_cast<int>(0.03 / std::max(exchange.seconds(3), 1e-7)), 1, 200);
  std::vector<double> seconds;
  seconds.reserve(rounds);
  for (int k = 0; k < rounds; ++k) seconds.push_back(exchange.seconds(times));
  return median(std::move(seconds));
}

/// Longer and longer, until one takes long enough.
void measure_long(Communicator& communicator, ExchangeTimes& times) {
  constexpr double long_enough = 0.2;
  constexpr std::size_t most_bytes = std::size_t{1} << 25;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  for (std::size_t bytes = std::size_t{1} << 16;; bytes *= 4) {
    TwoWayExchange exchange(communicator, bytes / ranks);
    times.bytes = static_cast<double>(bytes / ranks * (ranks - 1));
    times.long_seconds = exchange.seconds(1);
    if (times.long_seconds > long_enough || 4 * bytes > most_bytes) {
      times.long_seconds = median({times.long_seconds, exchange.seconds(1), exchange.seconds(1)});
      return;
    }
  }
}

ExchangeTimes measure(Communicator& all, Communicator& pair) {
  ExchangeTimes times;
  times.ranks = all.size();
  if (pair.size() == 2) times.pair_seconds = empty_seconds(pair);
  times.empty_seconds = all.size() == 2 ? times.pair_seconds : empty_seconds(all);
  measure_long(all, times);
  return times;
}

}  // namespace

void set_latency(const ExchangeTimes& times, double& latency_seconds, double& message_seconds) {
  const double pair = times.pair_seconds;
  const double message =
      times.ranks > 2 ? (times.empty_seconds - pair) / static_cast<double>(times.ranks - 2) : 0.1 * pair;
  message_seconds = std::clamp(message, 0.0, pair);
  latency_seconds = pair - message_seconds;
}

double rate_of(const ExchangeTimes& times) {
  // A wire that is faster than its latency lets us see: at least a tenth of the time is for the bytes.
  const double seconds = std::max(times.long_seconds - times.empty_seconds, 0.1 * times.long_seconds);
  return times.bytes / seconds;
}

void measure_network(Communicator& communicator, const NodeLevels& levels, plan::Network& network) {
  network.ranks_per_node = levels.node->size();
  // What rank 0 measured counts for all: it is in every level's first group.
  std::vector<double> found(5, 0.0);
  if (levels.across->size() > 1) {
    const ExchangeTimes times = measure(*levels.across, *levels.pair);
    set_latency(times, found[0], found[1]);
    found[2] = rate_of(times) * network.ranks_per_node;
  }
  if (levels.node->size() > 1) {
    ExchangeTimes times;
    times.ranks = levels.node->size();
    times.empty_seconds = empty_seconds(*levels.node);
    measure_long(*levels.node, times);
    found[3] = times.empty_seconds;
    found[4] = rate_of(times);
  }
  const std::vector<double> all = communicator.all_gather_values(found);
  if (levels.across->size() > 1) {
    network.latency_seconds = all[0];
    network.message_seconds = all[1];
    network.link_bytes_per_second = all[2];
  }
  if (levels.node->size() > 1) {
    network.node_latency_seconds =
        std::max(0.0, all[3] - (levels.node->size() - 1) * network.message_seconds);
    network.node_bytes_per_second = all[4];
  }
}

}  // namespace kadam::plan_program
