// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/optimizer_names.hpp>
#include <launch/command_line.hpp>
#include <launch/quantities.hpp>
#include <plan/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace kadam::plan_program {
namespace {

void add_workload(launch::Options& options, CommandLine& line) {
  const auto text = [&](const char* name, std::string& value, const char* help, const char* type) {
    options.add(name, type, value, help);
  };
  text("--parameters", line.parameters, "d, as in 340M; needed, unless --machine has it", "N");
  text("--compute", line.compute, "forward and backward pass of a step, as in 250ms\n(default 0)", "TIME");
  text("--steps", line.steps, "of the whole run (default 100000)", "N");
  text("--ranks", line.ranks, "to predict for, as in 2,64,512\n(default 2, 4, 8 ... 4096)", "N,N");
}

void add_network(launch::Options& options, CommandLine& line) {
  const auto text = [&](const char* name, std::string& value, const char* help, const char* type) {
    options.add(name, type, value, help);
  };
  text("--machine", line.machine, "figures from a JSON file: of an earlier --save, or\nwith a whole case",
       "FILE");
  text("--save", line.save, "writes what was measured or given of machine and\nnetwork", "FILE");
  text("--rate", line.rate, "of a host's link, as programs reach it: 1gbit,\n10GB/s (default: measured)",
       "RATE");
  text("--latency", line.latency, "between hosts, as in 50us (default: measured; 50us\nwith --rate)", "TIME");
  text("--message-cost", line.message_cost, "of each message beside its bytes (default:\nmeasured; 2us)",
       "TIME");
  text("--ranks-per-node", line.ranks_per_node, "that share a link (default: as started; 1 with\n--rate)",
       "N");
  text("--node-rate", line.node_rate,
       "of each rank to others of its node while all send:\n10GB/s (default: measured; needed where ranks "
       "share\n"
       "a node and nothing is measured)",
       "RATE");
  text("--node-latency", line.node_latency, "inside a node (default: measured; 1us)", "TIME");
  text("--memory", line.memory,
       "of a rank: kernels at the speed of their bytes,\nas in 800GB/s (default: "
       "kernels are measured)",
       "RATE");
  text("--device-memory", line.device_memory,
       "of a rank, as in 40GB: what needs more, parameters\nand gradient included, is not recommended",
       "SIZE");
}

void add_overlap(launch::Options& options, CommandLine& line) {
  options.add("--backward-overlap", "X", line.backward_overlap,
              "part of the compute time beside which a gradient's\nexchange runs, 0 to 1 (default 0.6; 0: "
              "as kadam-train\nwith training.overlap=false)");
  options.add(
      "--background-overlap", "X", line.background_overlap,
      "part of compute and kernels beside which runs what\narrives some steps later: divisible_adam's "
      "mean,\nrounds with round_delay, variances with\nvariance_delay (default 1)");
  options.add("--piece-bytes", "BYTES", line.piece_bytes,
              "length of the pieces that messages are cut into,\nso that encoding, sending and decoding "
              "overlap\n(default 61440, as Kadam cuts on processors; 0: they\ndo not)");
  options.add("--levels", "WORD", line.levels,
              "flat: all ranks exchange with all; two: those of a\nnode densely first; best: the better one "
              "(default)");
}

void add_options(launch::Options& options, CommandLine& line) {
  options
      .add("--warmup", "X", line.warmup,
           "share of the run that is a dense warm-up, where one is needed\n(default 0.15)")
      .range(0.0, 0.99);
  options.add("--density", "X", line.density, "of the sparse ones (default: their own, 0.01 or 1/1024)");
  options.add("--background-steps", "N", line.background_steps,
              "between background exchanges, or auto (default 4)");
  options.add("--bits", "N", line.bits, "of the codes, where there is a choice (default 4)");
  options.add("--exchange", "WORD", line.exchange, "of the sparse ones: own or owner (default own)");
  options
      .add("--set", "NAME.KEY=VALUE", line.assignments,
           "any option of an optimizer, as in\nloco.parameters=bf16; may be repeated")
      .repeatable();
}

OptionValue value_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  char* end = nullptr;
  const long long integer = std::strtoll(text.c_str(), &end, 10);
  if (end != text.c_str() && *end == '\0') return static_cast<std::int64_t>(integer);
  const double number = std::strtod(text.c_str(), &end);
  if (end != text.c_str() && *end == '\0') return number;
  return text;
}

/// Of all optimizers that have the option, and a choice of codes where it is their bits.
void set_everywhere(const std::string& key, const std::string& text, Figures& figures) {
  if (text.empty()) return;
  for (const std::string& name : optimizer_names()) {
    const bool has_choice = key != "bits" || optimizer_traits(name).codes.size() > 1;
    if (has_option(name, key) && has_choice) figures.options[name][key] = value_of(text);
  }
}

void assign(const std::string& assignment, Figures& figures) {
  const std::size_t dot = assignment.find('.');
  const std::size_t equals = assignment.find('=');
  if (dot == std::string::npos || equals == std::string::npos || dot > equals) {
    throw launch::UsageError("--set " + assignment + ": expected NAME.KEY=VALUE, as in loco.bits=8");
  }
  const std::string algorithm = assignment.substr(0, dot);
  const auto names = optimizer_names();
  if (std::find(names.begin(), names.end(), algorithm) == names.end()) {
    throw launch::UsageError("--set " + assignment + ": there is no optimizer '" + algorithm + "'");
  }
  figures.options[algorithm][assignment.substr(dot + 1, equals - dot - 1)] =
      value_of(assignment.substr(equals + 1));
}

void apply_options(const CommandLine& line, Figures& figures) {
  set_everywhere("density", line.density, figures);
  set_everywhere("exchange", line.exchange, figures);
  set_everywhere("background_steps", line.background_steps, figures);
  set_everywhere("bits", line.bits, figures);
  for (const std::string& assignment : line.assignments) assign(assignment, figures);
}

/// The figures that assumptions stand in for where nobody gives them.
void apply_assumable(const CommandLine& line, Figures& figures) {
  plan::Network& network = figures.network;
  const auto apply_text = [&](const char* option, const std::string& text, auto& value, auto read) {
    if (text.empty()) return;
    value = read(option, text);
    figures.known.insert(option);
  };
  apply_text("--latency", line.latency, network.latency_seconds, launch::seconds_of);
  apply_text("--message-cost", line.message_cost, network.message_seconds, launch::seconds_of);
  apply_text("--node-latency", line.node_latency, network.node_latency_seconds, launch::seconds_of);
  apply_text(
      "--ranks-per-node", line.ranks_per_node, network.ranks_per_node,
      [](const char* option, const std::string& text) { return launch::counts_of(option, text).front(); });
  apply_text("--compute", line.compute, figures.compute_seconds, launch::seconds_of);
  apply_text("--steps", line.steps, figures.steps, launch::count_of);
  const auto apply_share = [&](const char* option, const std::optional<double>& share, double& value) {
    if (!share) return;
    value = *share;
    figures.known.insert(option);
  };
  apply_share("--warmup", line.warmup, figures.warmup);
  apply_share("--backward-overlap", line.backward_overlap, figures.overlap.backward);
  apply_share("--background-overlap", line.background_overlap, figures.overlap.background);
}

}  // namespace

std::optional<int> parse(launch::Session& session, int argc, char** argv, CommandLine& line) {
  launch::Options options(
      "kadam-plan",
      "Predicts the step time of every optimizer on a network, and says dense where dense is best.\n"
      "Figures come from a short measurement on the ranks it is started on, a file, or options.",
      "mpirun -n RANKS kadam-plan --parameters N [--compute TIME] [--rate RATE] [--json]");
  add_workload(options, line);
  add_network(options, line);
  add_overlap(options, line);
  add_options(options, line);
  options.add("--plot", "FILE", line.plot,
              "draws step time over ranks and over the rate, by\nkadam-report: .svg or .png");
  options.add_flag("--json", line.json, "one JSON object instead of the tables");
  return options.parse(session, argc, argv);
}

void apply(const CommandLine& line, Figures& figures) {
  apply_assumable(line, figures);
  if (!line.rate.empty()) figures.network.link_bytes_per_second = launch::rate_of("--rate", line.rate);
  if (!line.node_rate.empty())
    figures.network.node_bytes_per_second = launch::rate_of("--node-rate", line.node_rate);
  if (!line.memory.empty()) {
    figures.kernels = plan::KernelCosts::at_memory_speed(launch::rate_of("--memory", line.memory));
    figures.machine = "kernels at the speed of their bytes, " + line.memory;
  }
  if (!line.device_memory.empty())
    figures.memory_bytes = launch::bytes_of("--device-memory", line.device_memory);
  if (!line.parameters.empty()) figures.elements = launch::count_of("--parameters", line.parameters);
  if (!line.ranks.empty()) figures.ranks = launch::counts_of("--ranks", line.ranks);
  if (line.piece_bytes) figures.overlap.piece_bytes = *line.piece_bytes;
  if (!line.levels.empty()) figures.levels = levels_of("--levels", line.levels);
  apply_options(line, figures);
}

}  // namespace kadam::plan_program
