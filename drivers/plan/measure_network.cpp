// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/pipelined_reduction.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <launch/timing.hpp>
#include <plan/measurement.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace kadam::plan_program {
namespace {

/// The exchanges of a compressed or dense mean without its kernels: to the owners of chunks and back to all,
/// in pieces.
class TwoWayExchange {
 public:
  /// message_bytes: from one rank to another in one direction; a multiple of shortest_message_bytes.
  /// together: all ranks that start at the same time, in this communicator and others like it.
  TwoWayExchange(Communicator& communicator, Communicator& together, std::size_t message_bytes)
      : communicator_(communicator),
        together_(together),
        chunks_(static_cast<std::int64_t>(message_bytes / sizeof(float)) * communicator.size(),
                communicator.size()),
        bytes_(exec_, message_bytes * static_cast<std::size_t>(communicator.size())) {
    cut_numbers<float>(slices_, chunks_, communicator.piece_bytes());
  }
  static constexpr std::size_t shortest_message_bytes = sizeof(float) * ChunkLayout::alignment_elements;

  /// Seconds of one direction, mean of `times` runs: those of the slowest of all ranks that start together.
  double seconds(int times) {
    (void)slowest(0.0);  // all start now: a rank that has a link to itself finds it too fast
    const Kokkos::Timer timer;
    for (int k = 0; k < times; ++k) run();
    return slowest(timer.seconds()) / (2.0 * times);
  }

 private:
  /// In device memory where there is a device, as in training.
  struct Buffers {
    Buffers(const ExecutionSpace& exec, std::size_t size)
        : sent(allocate_zeros<std::byte>(exec, "kadam-plan::sent", static_cast<std::int64_t>(size))),
          received(allocate_zeros<std::byte>(exec, "kadam-plan::received", static_cast<std::int64_t>(size))),
          result(allocate_zeros<std::byte>(exec, "kadam-plan::result", static_cast<std::int64_t>(size))) {}
    Vector<std::byte> sent;
    Vector<std::byte> received;
    Vector<std::byte> result;
  };

  void run() {
    const ReductionSteps nothing{[](int, const Slice&) {}, [](const Slice&) {}};
    const std::array<ExchangeBuffers, 2> buffers{
        ExchangeBuffers{bytes_of(bytes_.sent), bytes_of(bytes_.received)},
        ExchangeBuffers{bytes_of(bytes_.result), bytes_of(bytes_.result)}};
    Exchange exchange(exec_, communicator_, Traffic::control, buffers);
    ReductionRun reduction(slices_, communicator_.rank(), ReductionRun::Replies::to_all, exchange, nothing);
    run_reduction(exec_, phases_, reduction);
  }

  double slowest(double own) {
    const std::vector<double> all = together_.all_gather_values({&own, 1});
    return *std::max_element(all.begin(), all.end());
  }

  ExecutionSpace exec_;
  Communicator& communicator_;
  Communicator& together_;
  ChunkLayout chunks_;
  SlicedChunks slices_;
  Buffers bytes_;
  Phases phases_;
};

/// Seconds of an exchange of the shortest messages.
double empty_seconds(Communicator& communicator, Communicator& together) {
  constexpr int rounds = 9;
  TwoWayExchange exchange(communicator, together, TwoWayExchange::shortest_message_bytes);
  (void)exchange.seconds(1);
  // As many as fit in about 0.3 s in all; all ranks agree, because all see the slowest.
  const int times = std::clamp(static_cast<int>(0.03 / std::max(exchange.seconds(3), 1e-7)), 1, 200);
  std::vector<double> seconds;
  seconds.reserve(rounds);
  for (int k = 0; k < rounds; ++k) seconds.push_back(exchange.seconds(times));
  return launch::Timing::of(std::move(seconds)).median;
}

/// The bytes for one of `ranks` ranks, rounded up to shortest_message_bytes.
std::size_t message_bytes(std::size_t bytes, std::size_t ranks) {
  constexpr std::size_t unit = TwoWayExchange::shortest_message_bytes;
  const auto share = static_cast<std::int64_t>(bytes / ranks);
  return static_cast<std::size_t>(ceil_divide(share, unit)) * unit;
}

/// Measures longer and longer exchanges, up to one that takes long enough. A first pass finds out which does,
/// and lets connections open their windows.
std::vector<TimedExchange> measure_longer(Communicator& communicator, Communicator& together) {
  constexpr double long_enough = 0.25;
  constexpr int rounds = 5;
  constexpr std::size_t least_bytes = std::size_t{1} << 17;
  constexpr std::size_t most_bytes = std::size_t{1} << 25;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::size_t longest = least_bytes;
  while (TwoWayExchange(communicator, together, message_bytes(longest, ranks)).seconds(1) < long_enough &&
         4 * longest <= most_bytes)
    longest *= 4;
  std::vector<TimedExchange> longer;
  for (std::size_t bytes = least_bytes; bytes <= longest; bytes *= 4) {
    const std::size_t message = message_bytes(bytes, ranks);
    TwoWayExchange exchange(communicator, together, message);
    std::vector<double> seconds;
    seconds.reserve(rounds);
    for (int k = 0; k < (bytes < longest ? rounds : 3); ++k) seconds.push_back(exchange.seconds(1));
    longer.push_back(
        {static_cast<double>(message * (ranks - 1)), launch::Timing::of(std::move(seconds)).median});
  }
  return longer;
}

/// program: all ranks, each in one communicator like `all`, which measure at the same time.
ExchangeTimes measure(Communicator& all, Communicator& pair, Communicator& program) {
  ExchangeTimes times;
  times.ranks = all.size();
  if (pair.size() == 2) times.pair_seconds = empty_seconds(pair, pair);
  times.empty_seconds = empty_seconds(all, program);
  times.longer = measure_longer(all, program);
  return times;
}

/// Seconds per byte between the two longest exchanges: in shorter ones other costs than the rate show.
/// Against noise it is clamped to seconds / bytes of the longest, and half of that.
double slope_of(const std::vector<TimedExchange>& points) {
  constexpr double noise = 2.0;
  const TimedExchange& longest = points.back();
  const double in_all = longest.seconds / longest.bytes;
  if (points.size() == 1) return in_all;
  const TimedExchange& other = points[points.size() - 2];
  const double between = (longest.seconds - other.seconds) / (longest.bytes - other.bytes);
  return std::clamp(between, in_all / noise, in_all);
}

/// Seconds at 0 bytes of the line with this slope that fits all points best: least squares of relative
/// errors.
double begin_of(const std::vector<TimedExchange>& points, double slope) {
  double weights = 0.0;
  double weighted = 0.0;
  for (const auto& [bytes, seconds] : points) {
    const double weight = 1.0 / (seconds * seconds);
    weights += weight;
    weighted += weight * (seconds - slope * bytes);
  }
  return weighted / weights;
}

}  // namespace

WireFigures fit(const ExchangeTimes& times) {
  const double slope = slope_of(times.longer);
  const double begin = std::max(times.empty_seconds, begin_of(times.longer, slope));
  const double others = times.ranks - 1;
  double message = 0.1 * times.pair_seconds;
  if (times.ranks > 2 && times.pair_seconds > 0.0) {
    message = (times.empty_seconds - times.pair_seconds) / (others - 1.0);
  }
  WireFigures figures;
  figures.message_seconds = std::clamp(message, 0.0, begin / others);
  figures.latency_seconds = std::max(0.0, begin - others * figures.message_seconds);  // rounding
  figures.bytes_per_second = 1.0 / slope;
  return figures;
}

void measure_network(Communicator& communicator, const NodeLevels& levels, Figures& figures) {
  plan::Network& network = figures.network;
  network.ranks_per_node = levels.node->size();
  figures.known.insert("--ranks-per-node");
  WireFigures links;
  WireFigures node;
  if (levels.across->size() > 1) links = fit(measure(*levels.across, *levels.pair, communicator));
  if (levels.node->size() > 1) {
    const auto alone = Communicator::self();
    node = fit(measure(*levels.node, *alone, communicator));
  }
  // What rank 0 measured counts for all: it is in the first group of every level.
  const std::vector<double> own = {links.latency_seconds, links.message_seconds, links.bytes_per_second,
                                   node.latency_seconds, node.bytes_per_second};
  const std::vector<double> all = communicator.all_gather_values(own);
  if (levels.across->size() > 1) {
    network.latency_seconds = all[0];
    network.message_seconds = all[1];
    network.link_bytes_per_second = all[2] * network.ranks_per_node;
    figures.known.insert({"--latency", "--message-cost"});
  }
  if (levels.node->size() > 1) {
    if (levels.across->size() == 1) network.message_seconds = 0.0;  // it is in the latency
    network.node_latency_seconds = all[3];
    network.node_bytes_per_second = all[4];
    figures.known.insert("--node-latency");
  }
}

NodeLevels find_node_levels(Communicator& communicator) {
  NodeLevels levels;
  levels.node = communicator.split_by_node();
  levels.across = communicator.split(levels.node->rank());
  // Colours: the pair of each local number, and a colour of its own for each rank that is in none.
  const bool paired = levels.across->rank() < 2;
  levels.pair = communicator.split(paired ? levels.node->rank() : communicator.size() + communicator.rank());
  const auto on_node = static_cast<double>(levels.node->size());
  const std::vector<double> all = communicator.all_gather_values({&on_node, 1});
  levels.equal_nodes = std::all_of(all.begin(), all.end(), [&](double other) { return other == on_node; });
  return levels;
}

}  // namespace kadam::plan_program
