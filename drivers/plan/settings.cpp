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
  text("--parameters", line.parameters,
       "number of parameters, as in 340M; needed, unless the\nfile of --machine has it", "N");
  text("--compute", line.compute, "time of forward and backward pass in a step, as in\n250ms (default 0)",
       "TIME");
  text("--steps", line.steps, "number of steps of the whole run (default 100000)", "N");
  text("--ranks", line.ranks, "numbers of ranks to predict for, as in 2,64,512\n(default 2, 4, 8 ... 4096)",
       "N,N");
}

void add_network(launch::Options& options, CommandLine& line) {
  const auto text = [&](const char* name, std::string& value, const char* help, const char* type) {
    options.add(name, type, value, help);
  };
  text("--machine", line.machine,
       "reads figures from a JSON file: one that --save wrote,\nor one with a whole case", "FILE");
  text("--save", line.save, "writes the figures of machine and network that were\nmeasured or given", "FILE");
  text("--rate", line.rate, "rate of a host's link that programs reach: 1gbit,\n10GB/s (default: measured)",
       "RATE");
  text("--latency", line.latency, "latency between hosts, as in 50us (default: measured;\n50us with --rate)",
       "TIME");
  text("--message-cost", line.message_cost,
       "time of each message beside its bytes (default:\nmeasured; 2us with --rate)", "TIME");
  text("--ranks-per-node", line.ranks_per_node,
       "number of ranks that share a link (default: as\nstarted; 1 with --rate)", "N");
  text("--node-rate", line.node_rate,
       "rate of each rank to others of its node while all\nsend: 10GB/s (default: measured; needed if ranks "
       "share\na node and nothing is measured)",
       "RATE");
  text("--node-latency", line.node_latency, "latency inside a node (default: measured; 1us with\n--rate)",
       "TIME");
  text("--memory", line.memory,
       "rate of a rank's memory, as in 800GB/s: kernels then\ntake the time of their bytes (default: kernels "
       "are\nmeasured)",
       "RATE");
  text("--device-memory", line.device_memory,
       "memory of a rank, as in 40GB: an optimizer that needs\nmore, with parameters and gradient, is not "
       "recommended",
       "SIZE");
}

void add_overlap(launch::Options& options, CommandLine& line) {
  options.add("--backward-overlap", "X", line.backward_overlap,
              "part of the compute time that hides a gradient's\nexchange, 0 to 1 (default 0.6; 0 is "
              "kadam-train with\ntraining.overlap=false)");
  options.add(
      "--background-overlap", "X", line.background_overlap,
      "part of compute and kernels, 0 to 1, that hides an\nexchange whose result arrives some steps "
      "later:\ndivisible_adam's mean, rounds with round_delay,\nvariances with variance_delay (default 1)");
  options.add("--piece-bytes", "BYTES", line.piece_bytes,
              "length of the pieces of a message, with which\nencoding, sending and decoding overlap "
              "(default 61440,\nas Kadam cuts on processors; 0: no overlap)");
  options.add("--levels", "WORD", line.levels,
              "flat: all ranks exchange with all; two: ranks of a\nnode first exchange densely; best: the "
              "faster one\n(default)");
}

void add_options(launch::Options& options, CommandLine& line) {
  options
      .add("--warmup", "X", line.warmup,
           "part of the run that is a dense warm-up, 0 to 0.99,\nfor optimizers that need one (default 0.15)")
      .range(0.0, 0.99);
  options.add("--density", "X", line.density,
              "density of sparse optimizers (default: their own, 0.01\nor 1/1024)");
  options.add("--background-steps", "N", line.background_steps,
              "steps between background exchanges, or auto\n(default 4)");
  options.add("--bits", "N", line.bits, "bits of the code, for optimizers that have a choice\n(default 4)");
  options.add("--exchange", "WORD", line.exchange,
              "exchange of sparse optimizers: own or owner\n(default own)");
  options
      .add("--set", "NAME.KEY=VALUE", line.assignments,
           "sets any option of an optimizer, as in\nloco.parameters=bf16; may be repeated")
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
      "Predicts the step time of every optimizer on a network, and says dense if dense is best.\n"
      "The figures come from a short measurement on its own ranks, from a file, or from options.",
      "mpirun -n RANKS kadam-plan --parameters N [--compute TIME] [--rate RATE] [--json]");
  add_workload(options, line);
  add_network(options, line);
  add_overlap(options, line);
  add_options(options, line);
  options.add("--plot", "FILE", line.plot,
              "draws step time over ranks and over the rate, with\nkadam-report, into a .svg or .png file");
  options.add_flag("--json", line.json, "prints one JSON object instead of the tables");
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
