// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <plan/prediction.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace kadam::plan {
namespace {

/// Says for each transfer which ranks take part, and over which network.
class Wires {
 public:
  Wires(const Scenario& scenario, int ranks, bool two_levels)
      : network_(scenario.network),
        between_(scenario.network.between_nodes()),
        piece_bytes_(scenario.overlap.piece_bytes),
        ranks_(ranks),
        two_levels_(two_levels) {}

  [[nodiscard]] double seconds(const PlannedExchange& exchange) const {
    return sum_of(transfer_seconds, exchange);
  }
  [[nodiscard]] double seconds_of_messages(const PlannedExchange& exchange) const {
    return sum_of(message_seconds, exchange);
  }

  /// Number of pieces of the longest message.
  [[nodiscard]] double pieces(const PlannedExchange& exchange) const {
    double longest = 0.0;
    for (const Transfer& transfer : exchange.transfers) {
      const int receivers = ranks_of(transfer) - 1;
      if (transfer.traffic == Traffic::node || receivers == 0) continue;
      longest = std::max(longest, static_cast<double>(transfer.bytes) / receivers);
    }
    return piece_bytes_ == 0 ? 1.0 : std::max(1.0, std::ceil(longest / static_cast<double>(piece_bytes_)));
  }

 private:
  using Seconds = double (*)(const Network&, int, const Transfer&);
  [[nodiscard]] double sum_of(Seconds seconds, const PlannedExchange& exchange) const {
    double sum = 0.0;
    for (const Transfer& transfer : exchange.transfers)
      sum += seconds(goes_between(transfer) ? between_ : network_, ranks_of(transfer), transfer);
    return sum;
  }
  /// Whether one rank of each node exchanges with those of the other nodes, all places at once.
  [[nodiscard]] bool goes_between(const Transfer& transfer) const {
    return two_levels_ && !transfer.has_one_level && transfer.traffic != Traffic::node;
  }
  [[nodiscard]] int ranks_of(const Transfer& transfer) const {
    if (goes_between(transfer)) return network_.nodes(ranks_);
    return transfer.traffic == Traffic::node ? network_.ranks_per_node : ranks_;
  }

  const Network& network_;
  Network between_;
  std::size_t piece_bytes_;
  int ranks_;
  bool two_levels_;
};

bool has_two_levels(const Scenario& scenario, int ranks) {
  const int on_node = scenario.network.ranks_per_node;
  return on_node > 1 && ranks > on_node && ranks % on_node == 0;
}

/// The agreement of all ranks that the gradient is finite, and on raised bits: 16 bytes of each to all.
Transfer agreement_of(int ranks) {
  return {Pattern::all_gather, Traffic::control, 2 * sizeof(double) * static_cast<std::size_t>(ranks - 1)};
}

double work_seconds(const StepPhase& phase, const KernelCosts& kernels) {
  double sum = 0.0;
  for (const Work& work : phase.work) sum += work.elements * kernels.per_element(work.kernel);
  return sum;
}

/// Fraction of the steps between two background exchanges in which one may travel.
double travelling_share(const PlannedExchange& exchange) {
  if (exchange.wanted_after == 0) return 1.0;
  return static_cast<double>(exchange.wanted_after) / static_cast<double>(exchange.every);
}

StepSeconds add(StepSeconds sum, const StepSeconds& one, double weight) {
  sum.compute += weight * one.compute;
  sum.kernels += weight * one.kernels;
  sum.exchange += weight * one.exchange;
  sum.exposed += weight * one.exposed;
  sum.messages += weight * one.messages;
  return sum;
}

/// Bytes per step, in the mean, that leave the node or, with one level, the rank.
double bytes_of(const StepPhase& phase) {
  double sum = 0.0;
  for (const PlannedExchange& exchange : phase.exchanges) {
    for (const Transfer& transfer : exchange.transfers) {
      if (transfer.traffic == Traffic::node) continue;
      sum += static_cast<double>(transfer.bytes) / static_cast<double>(exchange.every);
    }
  }
  return sum;
}

AlgorithmCost cost_of(const std::string& algorithm, const OptionMap& options, const Scenario& scenario,
                      int ranks, bool two_levels) {
  const Network& network = scenario.network;
  return optimizer_cost(algorithm, options, scenario.elements,
                        two_levels ? Arrangement::of_nodes(network.nodes(ranks), network.ranks_per_node)
                                   : Arrangement::flat(ranks));
}

/// Checks that the end of the warm-up is a number of steps, and that steps are left after it.
void require_warmup(const std::string& algorithm, const OptionMap& options, const Scenario& scenario,
                    double settled_steps) {
  const std::string& warmup = optimizer_traits(algorithm).warmup;
  const auto given = options.find(warmup);
  if (given != options.end() && given->second == OptionValue("auto"))
    throw std::invalid_argument("kadam::plan: " + warmup + " = \"auto\": a plan needs a number of steps");
  if (settled_steps > 0.0) return;
  throw std::invalid_argument("kadam::plan: " + warmup + " takes the whole run of " +
                              std::to_string(scenario.steps) +
                              " steps: nothing would be left to compress; lower it, or plan more steps");
}

Prediction predict_with(const std::string& algorithm, const OptionMap& options, const Scenario& scenario,
                        int ranks, bool two_levels) {
  const AlgorithmCost cost = cost_of(algorithm, options, scenario, ranks, two_levels);
  Prediction prediction;
  prediction.algorithm = algorithm;
  prediction.ranks = ranks;
  prediction.levels = two_levels ? Levels::two : Levels::flat;
  prediction.memory = cost.memory;
  double settled_steps = 0.0;
  for (const StepPhase& phase : cost.phases) settled_steps += phase.count(scenario.steps).settled;
  require_warmup(algorithm, options, scenario, settled_steps);
  for (const StepPhase& phase : cost.phases) {
    const StepSeconds seconds = step_seconds(phase, scenario, ranks, two_levels);
    const StepCount count = phase.count(scenario.steps);
    const double share = count.all / static_cast<double>(scenario.steps);
    const double settled = count.settled / settled_steps;
    prediction.step = add(prediction.step, seconds, share);
    prediction.bytes += share * bytes_of(phase);
    prediction.settled = add(prediction.settled, seconds, settled);
    prediction.settled_bytes += settled * bytes_of(phase);
  }
  return prediction;
}

/// The smallest tau with tau step >= 1.2 exchange, both after the warm-up and without the background itself.
std::int64_t background_steps(const std::string& algorithm, const OptionMap& options,
                              const Scenario& scenario, int ranks, bool two_levels) {
  OptionMap once = options;
  once["background_steps"] = 1;
  StepPhase phase = cost_of(algorithm, once, scenario, ranks, two_levels).phases.back();
  const Wires wires(scenario, ranks, two_levels);
  const double exchange = phase.exchanges.empty() ? 0.0 : wires.seconds(phase.exchanges.back());
  if (!phase.exchanges.empty()) phase.exchanges.pop_back();
  const double step = step_seconds(phase, scenario, ranks, two_levels).total();
  return std::max(std::int64_t{1}, static_cast<std::int64_t>(std::ceil(1.2 * exchange / step)));
}

Prediction predict_on(const std::string& algorithm, OptionMap options, const Scenario& scenario, int ranks,
                      bool two_levels) {
  std::int64_t tau = 0;
  if (has_option(algorithm, "background_steps")) {
    const auto given = options.find("background_steps");
    if (given == options.end()) {
      tau = 4;
    } else if (const auto* number = std::get_if<std::int64_t>(&given->second)) {
      tau = *number;
    } else if (given->second == OptionValue("auto")) {
      tau = background_steps(algorithm, options, scenario, ranks, two_levels);
      options["background_steps"] = tau;
    }
  }
  Prediction prediction = predict_with(algorithm, options, scenario, ranks, two_levels);
  prediction.background_steps = tau;
  prediction.options = std::move(options);
  return prediction;
}

}  // namespace

void Scenario::validate() const {
  network.validate();
  const auto require = [](bool holds, const char* sentence) {
    if (!holds) throw std::invalid_argument(std::string("kadam::plan::Scenario: ") + sentence);
  };
  const auto is_share = [](double value) { return value >= 0.0 && value <= 1.0; };
  require(elements > 0, "expected 1 or more parameters");
  require(steps > 0, "expected 1 or more steps");
  require(std::isfinite(compute_seconds) && compute_seconds >= 0.0, "expected 0 seconds of compute or more");
  require(is_share(overlap.backward), "expected an overlap of the backward pass from 0 to 1");
  require(is_share(overlap.background), "expected an overlap of the background from 0 to 1");
}

StepSeconds step_seconds(const StepPhase& phase, const Scenario& scenario, int ranks, bool two_levels) {
  const Wires wires(scenario, ranks, two_levels);
  const Overlap& overlap = scenario.overlap;
  StepSeconds seconds{scenario.compute_seconds, work_seconds(phase, scenario.kernels)};
  if (phase.agrees) {
    seconds.exchange = seconds.exposed = transfer_seconds(scenario.network, ranks, agreement_of(ranks));
    seconds.messages = message_seconds(scenario.network, ranks, agreement_of(ranks));
  }
  for (const PlannedExchange& exchange : phase.exchanges) {
    const double spent = wires.seconds(exchange) / static_cast<double>(exchange.every);
    double hidden = 0.0;
    if (exchange.hiding == Hiding::backward) hidden = overlap.backward * seconds.compute;
    if (exchange.hiding == Hiding::background)
      hidden = travelling_share(exchange) * overlap.background * (seconds.compute + seconds.kernels);
    if (exchange.hiding == Hiding::backward || exchange.hiding == Hiding::pieces)
      hidden += std::min(seconds.kernels, spent) * (1.0 - 1.0 / wires.pieces(exchange));
    seconds.exchange += spent;
    seconds.messages += wires.seconds_of_messages(exchange) / static_cast<double>(exchange.every);
    seconds.exposed += std::max(0.0, spent - hidden);
  }
  return seconds;
}

Prediction predict(const std::string& algorithm, const OptionMap& options, const Scenario& scenario,
                   int ranks) {
  scenario.validate();
  if (ranks < 1) throw std::invalid_argument("kadam::plan::predict: expected 1 or more ranks");
  const bool possible = has_two_levels(scenario, ranks);
  if (scenario.levels == Levels::flat || !possible) {
    return predict_on(algorithm, options, scenario, ranks, false);
  }
  Prediction two = predict_on(algorithm, options, scenario, ranks, true);
  if (scenario.levels == Levels::two) return two;
  Prediction flat = predict_on(algorithm, options, scenario, ranks, false);
  return two.step.total() < flat.step.total() ? two : flat;
}

}  // namespace kadam::plan
