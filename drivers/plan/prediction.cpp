// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/optimizer_names.hpp>
#include <plan/prediction.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kadam::plan {
namespace {

/// The two sides of an exchange: between the ranks of a Problem, and inside the node.
class Wires {
 public:
  Wires(const Scenario& scenario, int ranks, bool two_levels) : scenario_(scenario), ranks_(ranks) {
    if (!two_levels) return;
    node_ranks_ = scenario.network.ranks_per_node;
    ranks_ = scenario.network.nodes(ranks);
    between_ = scenario.network.between_nodes();
  }

  [[nodiscard]] double seconds(const Exchange& exchange) const {
    double sum = 0.0;
    for (const Transfer& transfer : exchange.transfers) sum += transfer_seconds(network(), ranks_, transfer);
    if (node_ranks_ > 1) {
      for (const Pattern pattern : {Pattern::all_to_all, Pattern::all_gather}) {
        sum += transfer_seconds(scenario_.network, node_ranks_, {pattern, node_bytes(exchange)});
      }
    }
    return sum;
  }

  /// That its longest message is cut into.
  [[nodiscard]] double pieces(const Exchange& exchange) const {
    if (scenario_.overlap.piece_bytes == 0 || ranks_ == 1) return 1.0;
    std::size_t longest = 0;
    for (const Transfer& transfer : exchange.transfers) longest = std::max(longest, transfer.bytes);
    const double message = static_cast<double>(longest) / (ranks_ - 1);
    return std::max(1.0, std::ceil(message / static_cast<double>(scenario_.overlap.piece_bytes)));
  }

 private:
  [[nodiscard]] const Network& network() const { return node_ranks_ > 1 ? between_ : scenario_.network; }
  [[nodiscard]] std::size_t node_bytes(const Exchange& exchange) const {
    const auto others = static_cast<std::size_t>(node_ranks_ - 1);
    return exchange.node_bytes_per_element * static_cast<std::size_t>(scenario_.elements) * others /
           static_cast<std::size_t>(node_ranks_);
  }

  const Scenario& scenario_;
  int ranks_;
  int node_ranks_ = 1;
  Network between_;
};

bool has_two_levels(const Scenario& scenario, int ranks) {
  const int on_node = scenario.network.ranks_per_node;
  return on_node > 1 && ranks > on_node && ranks % on_node == 0;
}

/// All ranks agree that the gradient is finite, and on raised bits: 16 bytes of each to all, which nothing
/// hides.
double agreement_seconds(const Network& network, int ranks) {
  return transfer_seconds(network, ranks,
                          {Pattern::all_gather, 2 * sizeof(double) * static_cast<std::size_t>(ranks - 1)});
}

double work_seconds(const StepPhase& phase, const KernelCosts& kernels) {
  double sum = 0.0;
  for (const Work& work : phase.work) sum += work.elements * kernels.per_element(work.kernel);
  return sum;
}

/// Of the steps from one background exchange to the next, those in which it may travel.
double travelling_share(const Exchange& exchange) {
  if (exchange.wanted_after == 0) return 1.0;
  return static_cast<double>(exchange.wanted_after) / static_cast<double>(exchange.every);
}

StepSeconds add(StepSeconds sum, const StepSeconds& one, double weight) {
  sum.compute += weight * one.compute;
  sum.kernels += weight * one.kernels;
  sum.exchange += weight * one.exchange;
  sum.exposed += weight * one.exposed;
  return sum;
}

Problem problem_of(const Scenario& scenario, int ranks, bool two_levels) {
  Problem problem = Problem::flat(scenario.elements, ranks, scenario.steps);
  if (!two_levels) return problem;
  const std::int64_t on_node = scenario.network.ranks_per_node;
  problem.exchanged = (scenario.elements + on_node - 1) / on_node;
  problem.ranks = scenario.network.nodes(ranks);
  return problem;
}

Prediction predict_with(const std::string& algorithm, const OptionMap& options, const Scenario& scenario,
                        int ranks, bool two_levels) {
  const AlgorithmPlan plan = plan_algorithm(algorithm, options, problem_of(scenario, ranks, two_levels));
  Prediction prediction;
  prediction.algorithm = algorithm;
  prediction.ranks = ranks;
  prediction.levels = two_levels ? Levels::two : Levels::flat;
  prediction.memory = plan.memory;
  double settled_share = 0.0;
  for (const StepPhase& phase : plan.phases) settled_share += phase.settled ? phase.share : 0.0;
  for (const StepPhase& phase : plan.phases) {
    const StepSeconds seconds = step_seconds(phase, scenario, ranks, two_levels);
    prediction.step = add(prediction.step, seconds, phase.share);
    prediction.bytes += phase.share * phase.bytes();
    if (!phase.settled) continue;
    const double weight = phase.share / settled_share;
    prediction.settled = add(prediction.settled, seconds, weight);
    prediction.settled_bytes += weight * phase.bytes();
  }
  return prediction;
}

/// The smallest tau with tau step >= 1.2 exchange, both after the warm-up and without the background itself.
std::int64_t background_steps(const std::string& algorithm, const OptionMap& options,
                              const Scenario& scenario, int ranks, bool two_levels) {
  OptionMap once = options;
  once["background_steps"] = 1;
  const AlgorithmPlan plan = plan_algorithm(algorithm, once, problem_of(scenario, ranks, two_levels));
  StepPhase phase = plan.phases.back();
  const Wires wires(scenario, ranks, two_levels);
  const double exchange = wires.seconds(phase.exchanges.back());
  phase.exchanges.pop_back();
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
  require(std::isfinite(compute_seconds) && compute_seconds >= 0.0, "expected compute seconds, 0 or more");
  require(is_share(overlap.backward), "expected an overlap of the backward pass from 0 to 1");
  require(is_share(overlap.background), "expected an overlap of the background from 0 to 1");
}

StepSeconds step_seconds(const StepPhase& phase, const Scenario& scenario, int ranks, bool two_levels) {
  const Wires wires(scenario, ranks, two_levels);
  const Overlap& overlap = scenario.overlap;
  const double agreement = agreement_seconds(scenario.network, ranks);
  StepSeconds seconds{scenario.compute_seconds, work_seconds(phase, scenario.kernels), agreement, agreement};
  for (const Exchange& exchange : phase.exchanges) {
    const double spent = wires.seconds(exchange) / static_cast<double>(exchange.every);
    double hidden = 0.0;
    if (exchange.hiding == Hiding::backward) hidden = overlap.backward * seconds.compute;
    if (exchange.hiding == Hiding::background)
      hidden = travelling_share(exchange) * overlap.background * (seconds.compute + seconds.kernels);
    if (exchange.hiding == Hiding::backward || exchange.hiding == Hiding::pieces)
      hidden += std::min(seconds.kernels, spent) * (1.0 - 1.0 / wires.pieces(exchange));
    seconds.exchange += spent;
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
