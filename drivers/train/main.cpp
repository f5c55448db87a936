// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-train: trains a real model on real data under one or several optimizers.
#include <kadam/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <launch/command_line.hpp>
#include <launch/quantities.hpp>
#include <launch/session.hpp>
#include <launch/stop_signals.hpp>
#include <launch/watchdog.hpp>
#include <map>
#include <optional>
#include <report/page.hpp>
#include <train/comparison.hpp>
#include <train/configuration.hpp>
#include <train/key_help.hpp>
#include <train/run_folder.hpp>
#include <train/trainer.hpp>
#include <vector>

namespace kadam::train {
namespace {

using launch::Session;

struct CommandLine {
  std::string config;
  std::vector<std::string> assignments;
  std::vector<std::string> compare;
  std::string run;
  std::string checkpoint;
  std::string every;
  std::string walltime;
  std::string watchdog = "30min";
  std::string on_failure = "stop";
  std::vector<std::string> stop_on = {"TERM", "USR1"};
  CheckpointOptions checkpoints;
  bool trace = false;
  std::vector<std::int64_t> trace_steps;
};

void add_checkpoint_options(CLI::App& app, CommandLine& line) {
  CheckpointOptions& options = line.checkpoints;
  app.add_option("--checkpoint", line.checkpoint,
                 "folder for checkpoints, seen by all ranks; with --compare one\nfor each optimizer in it")
      ->type_name("FOLDER");
  app.add_option(
         "--checkpoint-every", line.every,
         "steps, or minutes as in 15min, between checkpoints (default: at\nthe end, and when stopped)")
      ->type_name("N|TIME");
  app.add_option("--checkpoint-keep", options.keep, "newest checkpoints that stay (default 2; 0: all)")
      ->type_name("N");
  app.add_option("--checkpoint-failure", line.on_failure,
                 "when one cannot be written (default stop); those before it\nstay")
      ->type_name("stop|continue")
      ->check(CLI::IsMember({"stop", "continue"}));
  app.add_option(
         "--resume", options.resume,
         "auto: go on from the newest whole checkpoint in --checkpoint,\nif there is one; or that folder")
      ->type_name("auto|PATH");
  app.add_option(
         "--stop-on", line.stop_on,
         "signals, to any rank, on which all ranks save after the same\nstep and end with exit code 75 "
         "(default TERM,USR1)")
      ->type_name("NAME,NAME")
      ->delimiter(',');
  app.add_option("--walltime", line.walltime,
                 "the same after this time, as in 3h50min: the job's limit, less\na step and a checkpoint")
      ->type_name("TIME");
}

/// What the words above mean.
CheckpointOptions checkpoint_options(const CommandLine& line) {
  CheckpointOptions options = line.checkpoints;
  options.folder = line.checkpoint;
  if (!line.every.empty()) options.set_every(line.every);
  if (!line.walltime.empty()) options.walltime_seconds = launch::duration_of("--walltime", line.walltime);
  options.goes_on_unsaved = line.on_failure == "continue";
  options.validate(!line.compare.empty());
  return options;
}

/// The exit code when the program is to end here.
std::optional<int> parse(Session& session, int argc, char** argv, CommandLine& line) {
  const auto app = launch::make_command_line(
      "kadam-train",
      "Trains a model on real data with a communication-compressed optimizer, or with several to compare.",
      "mpirun -n RANKS kadam-train [--config FILE] [--set KEY=VALUE]... [--compare NAME,NAME...]");
  app->add_option("--config", line.config, "TOML file with the sections data, model, training, optimizer")
      ->type_name("FILE");
  app->add_option("--set", line.assignments,
                  "a key of the configuration, as in optimizer.lr=0.001;\ncounts more than the file")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  app->add_option("--compare", line.compare,
                  "optimizers to run one after the other; optimizer.name is\nnot used")
      ->type_name("NAME,NAME")
      ->delimiter(',');
  app->add_flag(
      "--trace", line.trace,
      "write RUN/trace.json: what each rank computed, encoded and sent,\nand when; for chrome://tracing or "
      "ui.perfetto.dev");
  app->add_option(
         "--trace-steps", line.trace_steps,
         "only from this step to that one (default: from the first on, a\nmillion events of each rank)")
      ->type_name("FIRST LAST")
      ->expected(2)
      ->check(CLI::PositiveNumber);
  app->add_option("--run", line.run, "folder for the results (default runs/DATE-TIME)")->type_name("FOLDER");
  add_checkpoint_options(*app, line);
  app->add_option("--watchdog", line.watchdog,
                  "time without a step after which the job is ended and the rank\nnamed that is the reason "
                  "(default 30min; off)")
      ->type_name("TIME");
  app->footer(key_help());
  return launch::parse(*app, session, argc, argv);
}

std::filesystem::path run_folder(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  return fmt::format("runs/{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr)));
}

/// What is to be run, checked before anything is written.
struct Plan {
  Configuration configuration;
  std::vector<std::string> algorithms;
  bool compares = false;  ///< each algorithm then has a folder of its own
  std::filesystem::path folder;
  CheckpointOptions checkpoints;
  double watchdog_seconds = 0.0;  ///< 0: none
  Commands commands;
  std::unique_ptr<workloads::Dataset> data;

  [[nodiscard]] CheckpointOptions checkpoints_of(const std::string& algorithm) const {
    CheckpointOptions options = checkpoints;
    if (compares && !options.folder.empty()) options.folder /= algorithm;
    return options;
  }
  [[nodiscard]] std::filesystem::path folder_of(const std::string& algorithm) const {
    return compares ? folder / algorithm : folder;
  }
};

void create_folder(const char* option, const std::filesystem::path& folder) {
  std::error_code reason;
  std::filesystem::create_directories(folder, reason);
  if (reason) {
    throw launch::UsageError(
        fmt::format("{} {}: the folder cannot be made: {}", option, folder.string(), reason.message()));
  }
}

/// What would go wrong in an hour is said now.
void create_folders(const std::filesystem::path& run, const CheckpointOptions& checkpoints) {
  create_folder("--run", run);
  if (!checkpoints.folder.empty() && !checkpoints.goes_on_unsaved)
    create_folder("--checkpoint", checkpoints.folder);
}

/// The same again, from the configuration that lies with the results.
std::vector<std::string> repetition_of(const std::string& program, const std::filesystem::path& folder,
                                       const CommandLine& line) {
  std::vector<std::string> words = {program, "--config", (folder / "config.toml").string()};
  if (!line.compare.empty())
    words.insert(words.end(), {"--compare", fmt::format("{}", fmt::join(line.compare, ","))});
  return words;
}

Plan make_plan(const Session& session, const CommandLine& line) {
  Plan plan;
  plan.folder = run_folder(line.run);
  plan.compares = !line.compare.empty();
  session.prepare([&] {
    plan.configuration = read_configuration(line.config, line.assignments);
    plan.algorithms = line.compare;
    if (plan.algorithms.empty()) plan.algorithms = {plan.configuration.optimizer};
    plan.configuration.require_honoured_by(plan.algorithms);
    plan.checkpoints = checkpoint_options(line);
    if (line.watchdog != "off") plan.watchdog_seconds = launch::duration_of("--watchdog", line.watchdog);
    // A run that goes on finds what it has written before.
    if (session.is_root() && plan.checkpoints.resume.empty()) require_unused(plan.folder, plan.algorithms);
    plan.data = workloads::make_dataset(plan.configuration.data);
  });
  // All are made before the first is run: a wrong option of the last one is said now, not in an hour.
  for (const std::string& algorithm : plan.algorithms) {
    session.prepare(
        [&] { const Trainer trial(plan.configuration, algorithm, *plan.data, session.communicator()); });
  }
  session.prepare([&] {
    if (!session.is_root()) return;
    create_folders(plan.folder, plan.checkpoints);
    if (plan.compares) write_configuration(plan.folder, to_toml(plan.configuration));
  });
  return plan;
}

void print_banner(const Session& session, const Plan& plan) {
  const TrainingOptions& training = plan.configuration.training;
  const int ranks = session.communicator()->size();
  const int threads = ExecutionSpace().concurrency();
  fmt::print("Kadam {}: {}, {} thread{} of {} each\n", KADAM_VERSION_STRING,
             session.communicator()->description(), threads, threads == 1 ? "" : "s", ExecutionSpace::name());
  fmt::print("data      {}\n", plan.data->description());
  fmt::print("training  {} steps of {} x {} examples, seed {}\n", training.steps, ranks,
             training.batch * training.accumulate, training.seed);
}

/// "6.0 MB in a dense step": what is sent by whatever step, the phases in their order.
std::string traffic_text(const std::vector<PlannedTraffic>& plan) {
  std::vector<std::string> phases;
  std::map<std::string, std::string> parts;
  for (const PlannedTraffic& planned : plan) {
    std::string& text = parts[planned.phase];
    if (text.empty()) phases.push_back(planned.phase);
    if (planned.bytes == 0 && !text.empty()) continue;
    text += (text.empty() ? "" : " + ") + bytes_text(static_cast<double>(planned.bytes));
    if (planned.traffic == Traffic::node) text += " inside its node";
    if (planned.every > 1) text += fmt::format(" every {} steps", planned.every);
  }
  std::string all;
  for (const std::string& phase : phases) {
    all += fmt::format("{}{} in a {} step", all.empty() ? "" : ", ", parts[phase], phase);
  }
  return all;
}

void print_plan(const Configuration& configuration, const Optimizer& optimizer) {
  const auto d = optimizer.layout().elements();
  const MemoryUse memory = optimizer.memory();
  const double gradients = configuration.training.accumulate > 1 ? 2.0 : 1.0;
  fmt::print("\n{}: {} of d = {} parameters in {} tensors\n", optimizer.name(), configuration.model.kind,
             grouped(d), optimizer.layout().tensors().size());
  fmt::print("  memory per rank: parameters (twice) and gradient {}, optimizer state {}, messages {}\n",
             bytes_text((2.0 + gradients) * 4.0 * static_cast<double>(d)),
             bytes_text(static_cast<double>(memory.state_bytes)),
             bytes_text(static_cast<double>(memory.workspace_bytes)));
  fmt::print("  sent by a rank: {}", traffic_text(optimizer.traffic_plan()));
  fmt::print("\n");
  std::fflush(stdout);
}

void print_results(const Plan& plan, const std::vector<RunSummary>& runs) {
  fmt::print("\n{}\n", comparison_table(runs));
  if (plan.compares) write_comparison_json(plan.folder / "comparison.json", runs);
  report::write_page(report::read_runs({plan.folder}), plan.folder / "report.html");
  fmt::print("Results: {}\n", plan.folder.string());
  fmt::print("Report:  {}\n", (plan.folder / "report.html").string());
}

void print_stop(const Plan& plan, const RunSummary& run) {
  const std::string signal = launch::StopSignals::arrived();
  fmt::print("{}: stopped after step {} of {} ({}), saved in {}; --resume auto goes on from there\n",
             run.algorithm, run.steps, plan.configuration.training.steps,
             signal.empty() ? "told by another rank, or the clock" : signal,
             plan.checkpoints_of(run.algorithm).folder.string());
  // A launcher may end this rank as soon as another one has left.
  std::fflush(stdout);
}

void require_trace(const CommandLine& line) {
  if (line.trace && Kokkos::Tools::profileLibraryLoaded())
    throw launch::UsageError(
        "--trace listens to Kokkos as the tool of KOKKOS_TOOLS_LIBS does: leave one of them out");
  if (line.trace_steps.empty()) return;
  if (!line.trace)
    throw launch::UsageError("--trace-steps says which steps --trace records: give --trace as well");
  if (line.trace_steps.front() > line.trace_steps.back())
    throw launch::UsageError("--trace-steps FIRST LAST: expected a FIRST that is not after LAST");
}

/// Null unless one is wanted.
std::unique_ptr<trace::Timeline> start_timeline(const Session& session, const CommandLine& line) {
  if (!line.trace) return nullptr;
  trace::StepRange steps;
  if (!line.trace_steps.empty()) steps = {line.trace_steps.front(), line.trace_steps.back()};
  return std::make_unique<trace::Timeline>(session.communicator(), steps);
}

void write_timeline(const Session& session, trace::Timeline& timeline, const std::filesystem::path& path) {
  const std::size_t left_out = timeline.write(path);
  if (!session.is_root()) return;
  fmt::print("Timeline: {}\n", path.string());
  if (left_out > 0)
    fmt::print(stderr, "warning: {} events found no room in the timeline: choose --trace-steps\n", left_out);
}

int run(Session& session, int argc, char** argv) {
  CommandLine line;
  if (const auto code = parse(session, argc, argv, line)) return *code;
  session.prepare([&] { require_trace(line); });
  Plan plan = make_plan(session, line);
  plan.commands = {{argv, argv + argc}, repetition_of(argv[0], plan.folder, line)};
  // Without checkpoints a signal ends the program as it always does.
  std::optional<launch::StopSignals> signals;
  if (!plan.checkpoints.folder.empty()) session.prepare([&] { signals.emplace(line.stop_on); });
  if (session.is_root()) print_banner(session, plan);
  launch::Watchdog watchdog("kadam-train", plan.watchdog_seconds);
  std::vector<RunSummary> runs;
  for (const std::string& algorithm : plan.algorithms) {
    Trainer trainer(plan.configuration, algorithm, *plan.data, session.communicator());
    trainer.watch_with(watchdog);
    trainer.started_by(plan.commands);
    const std::unique_ptr<trace::Timeline> timeline = start_timeline(session, line);
    if (timeline) trainer.trace_with(*timeline);
    if (session.is_root()) print_plan(plan.configuration, trainer.optimizer());
    runs.push_back(trainer.run(plan.folder_of(algorithm), plan.checkpoints_of(algorithm)));
    if (timeline) write_timeline(session, *timeline, plan.folder_of(algorithm) / "trace.json");
    if (!runs.back().was_stopped) continue;
    if (session.is_root()) print_stop(plan, runs.back());
    return launch::exit_stopped;
  }
  if (session.is_root()) print_results(plan, runs);
  return launch::exit_success;
}

}  // namespace
}  // namespace kadam::train

int main(int argc, char** argv) {
  return kadam::launch::run_program("kadam-train", argc, argv, kadam::train::run);
}
