// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/call_counter.hpp>
#include <bench/growth.hpp>
#include <bench/kernel_cases.hpp>
#include <kadam/algorithms/algorithm.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <memory>

namespace kadam::bench {
namespace {

constexpr std::int64_t steps_of_warmup = 2;
constexpr const char* growth_row_format =
    "{:<26} {:>6} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>9} {:>7}\n";

OptionMap growth_options(const std::string& optimizer) {
  OptionMap options;
  const std::string& warmup = optimizer_traits(optimizer).warmup;
  if (!warmup.empty()) options[warmup] = steps_of_warmup;
  if (has_option(optimizer, "sync_interval")) options["sync_interval"] = std::int64_t{4};
  return options;
}

/// The tensors that a plan takes.
TensorLayout planned_layout(const GrowthCase& one) {
  return Problem::of_elements(one.elements, Arrangement::flat(1), {},
                              optimizer_traits(one.optimizer).matrices)
      .layout;
}

/// Waits for what is on its way in the background: it counts for the step in which it started.
void settle(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& x) {
  (void)optimizer.state_to_save(exec, x);
}

/// The planned figures of steps, added up.
class Planned {
 public:
  explicit Planned(const GrowthCase& one, const Communicator& communicator)
      : cost_(optimizer_cost(one.optimizer, growth_options(one.optimizer), one.elements,
                             communicator.arrangement())),
        ranks_(communicator.arrangement()),
        piece_bytes_(communicator.piece_bytes()) {}

  void add(const StepResult& step) {
    for (const StepPhase& phase : cost_.phases) {
      if (phase.name != step.phase) continue;
      for (const Work& work : phase.work) kernel_bytes += work.elements * work.kernel.bytes_per_element;
      for (const PlannedExchange& exchange : phase.exchanges) {
        if ((step.step - exchange.after) % exchange.every != 0) continue;
        for (const Transfer& transfer : exchange.transfers)
          messages += messages_of(transfer, receivers_of(transfer), piece_bytes_);
      }
    }
  }

  std::size_t messages = 0;
  double kernel_bytes = 0.0;

 private:
  [[nodiscard]] int receivers_of(const Transfer& transfer) const {
    if (transfer.traffic == Traffic::node) return ranks_.places - 1;
    return (transfer.has_one_level ? ranks_.ranks : ranks_.owners()) - 1;
  }

  AlgorithmCost cost_;
  Arrangement ranks_;
  std::size_t piece_bytes_;
};

/// Messages of exchanges, inside nodes and between them; agreements left out.
Tally exchanged_by(const SentMessages& sent) {
  Tally all = sent.of(SentMessages::Kind::exchange);
  return all += sent.of(SentMessages::Kind::in_node);
}

}  // namespace

std::size_t messages_of(const Transfer& transfer, int receivers, std::size_t piece_bytes) {
  if (transfer.bytes == 0 || receivers < 1) return 0;
  const auto others = static_cast<std::size_t>(receivers);
  const std::size_t each = (transfer.bytes + others - 1) / others;
  return others *
         std::max((each + piece_bytes - 1) / piece_bytes, static_cast<std::size_t>(transfer.least_messages));
}

GrowthResult measure_growth(const GrowthCase& one) {
  const ExecutionSpace exec;
  const auto sent = std::make_shared<SentMessages>();
  const auto communicator = std::make_shared<Communicator>(
      std::make_unique<LoneRankTransport>(0, one.ranks, sent, one.ranks_per_node));
  if (one.ranks_per_node > 1) communicator->form_levels(0);
  const auto x = allocate<float>(exec, "kadam-bench::x", one.elements);
  const auto gradient = allocate<float>(exec, "kadam-bench::gradient", one.elements);
  fill(exec, x, 1.0F, 1);
  fill(exec, gradient, 1e-2F, 100);

  GrowthResult result;
  result.what = one;
  std::unique_ptr<Optimizer> optimizer;
  {
    const HeldMemory held;
    optimizer =
        make_optimizer(one.optimizer, growth_options(one.optimizer), planned_layout(one), communicator);
    for (std::int64_t step = 0; step < steps_of_warmup + 2; ++step) optimizer->step(exec, x, gradient);
    result.held_bytes = held.bytes();
  }
  result.planned_held_bytes = optimizer->memory().state_bytes + optimizer->memory().workspace_bytes;
  result.kernel_seconds = std::numeric_limits<double>::infinity();
  Planned planned(one, *communicator);
  settle(exec, *optimizer, x);
  sent->forget();
  std::size_t planned_bytes = 0;
  std::int64_t launches = 0;
  for (int run = 0; run < one.runs; ++run) {
    const CallCounter counter;
    for (int step = 0; step < one.steps; ++step) {
      const StepResult taken = optimizer->step(exec, x, gradient);
      planned.add(taken);
      planned_bytes += optimizer->bytes_sent_in(taken.step, taken.phase);
    }
    exec.fence("kadam-bench: steps are taken");
    const Calls calls = counter.calls();
    result.kernel_seconds = std::min(result.kernel_seconds, calls.kernel_seconds / one.steps);
    launches += calls.launches;
  }
  settle(exec, *optimizer, x);
  const Tally exchanged = exchanged_by(*sent);
  const Tally agreed = sent->of(SentMessages::Kind::agreement);
  const auto per_step = [&](auto count) { return static_cast<double>(count) / (one.runs * one.steps); };
  result.bytes = per_step(exchanged.bytes);
  result.planned_bytes = per_step(planned_bytes);
  result.messages = per_step(exchanged.messages);
  result.planned_messages = per_step(planned.messages);
  result.longest_message_bytes = exchanged.longest_bytes;
  result.agreement_messages = per_step(agreed.messages);
  result.agreement_bytes = per_step(agreed.bytes);
  result.launches = per_step(launches);
  result.planned_kernel_bytes = per_step(planned.kernel_bytes);
  return result;
}

std::string growth_table_head() {
  return fmt::format(fmt::runtime(growth_row_format), "optimizer", "ranks", "kB sent", "planned", "messages",
                     "planned", "longest B", "MB held", "planned", "launches", "kernel ms", "GB/s");
}

std::string growth_table_row(const GrowthResult& result) {
  const auto scaled = [](double value, double unit, int digits) {
    return fmt::format("{:.{}f}", value / unit, digits);
  };
  return fmt::format(fmt::runtime(growth_row_format), result.what.optimizer, result.what.ranks,
                     scaled(result.bytes, 1e3, 1), scaled(result.planned_bytes, 1e3, 1),
                     scaled(result.messages, 1.0, 1), scaled(result.planned_messages, 1.0, 1),
                     result.longest_message_bytes, scaled(static_cast<double>(result.held_bytes), 1e6, 2),
                     scaled(static_cast<double>(result.planned_held_bytes), 1e6, 2),
                     scaled(result.launches, 1.0, 1), scaled(result.kernel_seconds, 1e-3, 2),
                     scaled(result.planned_kernel_bytes / result.kernel_seconds, 1e9, 1));
}

std::string json_line_of(const GrowthResult& result) {
  const nlohmann::ordered_json line = {{"optimizer", result.what.optimizer},
                                       {"elements", result.what.elements},
                                       {"ranks", result.what.ranks},
                                       {"ranks_per_node", result.what.ranks_per_node},
                                       {"bytes", result.bytes},
                                       {"planned_bytes", result.planned_bytes},
                                       {"messages", result.messages},
                                       {"planned_messages", result.planned_messages},
                                       {"longest_message_bytes", result.longest_message_bytes},
                                       {"agreement_messages", result.agreement_messages},
                                       {"agreement_bytes", result.agreement_bytes},
                                       {"held_bytes", result.held_bytes},
                                       {"planned_held_bytes", result.planned_held_bytes},
                                       {"launches", result.launches},
                                       {"kernel_seconds", result.kernel_seconds},
                                       {"planned_kernel_bytes", result.planned_kernel_bytes}};
  return line.dump() + "\n";
}

}  // namespace kadam::bench
