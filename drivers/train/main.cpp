// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-train: trains a real model on real data under one or several optimizers.
#include <kadam/optim/optimizer.hpp>
#include <launch/commands.hpp>
#include <launch/files.hpp>
#include <launch/quantities.hpp>
#include <launch/session.hpp>
#include <launch/watchdog.hpp>
#include <train/command_line.hpp>
#include <train/configuration.hpp>
#include <train/run_record.hpp>
#include <train/save_times.hpp>
#include <train/trainer.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

namespace kadam::train {
namespace {

using launch::Session;

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

/// What would go wrong in an hour is said now.
void create_folders(const std::filesystem::path& run, const CheckpointOptions& checkpoints,
                    const std::filesystem::path& record) {
  launch::create_folder("--run", run);
  if (!record.empty()) launch::create_folder("--record", record);
  if (!checkpoints.folder.empty() && !checkpoints.goes_on_unsaved)
    launch::create_folder("--checkpoint", checkpoints.folder);
}

Plan make_plan(const Session& session, const CommandLine& line) {
  Plan plan;
  plan.folder = launch::run_folder(line.run);
  plan.compares = !line.compare.empty();
  session.prepare([&] {
    plan.configuration = read_configuration(line.config, line.assignments);
    plan.algorithms = line.compare;
    if (plan.algorithms.empty()) plan.algorithms = {plan.configuration.optimizer.name};
    plan.configuration.require_honoured_by(plan.algorithms);
    plan.checkpoints = checkpoint_options(line);
    plan.watchdog_seconds = watchdog_seconds(line);
    const bool may_lose_ranks = plan.checkpoints.snapshots.every > 0;
    if (may_lose_ranks && !session.communicator()->survives_failures())
      throw launch::UsageError(
          "--snapshot-every: with this MPI a failed rank ends the job: set KADAM_WIRE=tcp, or start with "
          "mpirun --with-ft ulfm of Open MPI 5");
    if (may_lose_ranks && plan.configuration.data.dirichlet_alpha > 0.0)
      throw launch::UsageError(
          "--snapshot-every with data.dirichlet_alpha: the shards of the data depend on the number of ranks, "
          "which changes when a rank fails: leave one of them out");
    // A run that goes on finds what it has written before, and who joins what the others have.
    if (session.is_root() && plan.checkpoints.resume.empty() && !plan.checkpoints.joins)
      launch::require_unused(plan.folder, plan.algorithms);
    plan.data = workloads::make_dataset(plan.configuration.data);
  });
  // All are made before the first is run: a wrong option of the last one is said now, not in an hour.
  for (const std::string& algorithm : plan.algorithms) {
    session.prepare(
        [&] { const Trainer trial(plan.configuration, algorithm, *plan.data, session.communicator()); });
  }
  session.prepare([&] {
    if (!session.is_root()) return;
    create_folders(plan.folder, plan.checkpoints, line.record);
    if (plan.compares) launch::write_configuration(plan.folder, to_toml(plan.configuration));
  });
  return plan;
}

/// What all optimizers are trained on, and how long.
std::string banner(const Configuration& configuration, const workloads::Dataset& data,
                   const Communicator& program) {
  const TrainingOptions& training = configuration.training;
  return fmt::format("{}\ndata      {}\ntraining  {} steps of {} x {} examples, seed {}\n",
                     launch::title_line(program), data.description(), training.steps, program.size(),
                     training.batch * training.accumulate, training.seed);
}

/// Parameters, memory and bytes of a step of one of them.
std::string banner_of(const Optimizer& optimizer, const Configuration& configuration) {
  const auto text_of = [](std::size_t bytes) { return launch::bytes_text(static_cast<double>(bytes)); };
  const std::int64_t d = optimizer.layout().elements();
  const MemoryUse memory = optimizer.memory();
  const double gradients = configuration.training.accumulate > 1 ? 2.0 : 1.0;
  return fmt::format("\n{}: {} of d = {} parameters in {} tensors\n", optimizer.name(),
                     configuration.model.kind, launch::grouped(d), optimizer.layout().tensors().size()) +
         fmt::format(
             "  memory per rank: parameters (twice) and gradient {}, optimizer state {}, messages {}\n",
             launch::bytes_text((2.0 + gradients) * 4.0 * static_cast<double>(d)),
             text_of(memory.state_bytes), text_of(memory.workspace_bytes)) +
         fmt::format("  sent by a rank: {}\n", launch::traffic_text(optimizer.traffic_plan()));
}

/// The page is what kadam-report makes of the files. Whatever becomes of it, the run is done.
void print_report(const std::filesystem::path& folder) {
  if (launch::run_quietly({"kadam-report", folder.string()}, std::chrono::minutes(2))) {
    fmt::print("Report:  {}\n", (folder / "report.html").string());
  } else {
    fmt::print("Report:  run kadam-report {} to make it; this needs a Python with Matplotlib and Jinja2\n",
               launch::shell_word(folder.string()));
  }
}

void print_results(const Plan& plan, const std::vector<RunSummary>& runs) {
  fmt::print("\n{}\n", comparison_table(runs));
  if (plan.compares) write_comparison_json(plan.folder / "comparison.json", runs);
  fmt::print("Results: {}\n", plan.folder.string());
  std::fflush(stdout);
  print_report(plan.folder);
}

void print_stop(const Plan& plan, const RunSummary& run) {
  const std::string signal = StopSignals::arrived();
  fmt::print("{}: stopped after step {} of {} ({}) and saved in {}; --resume auto goes on from there\n",
             run.algorithm, run.steps, plan.configuration.training.steps,
             signal.empty() ? "a signal to another rank, or --walltime" : signal,
             plan.checkpoints_of(run.algorithm).folder.string());
  // A launcher may end this rank as soon as another one has left.
  std::fflush(stdout);
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
    fmt::print(stderr,
               "warning: the timeline was full and lacks {} events: choose fewer steps with --trace-steps\n",
               left_out);
}

/// What was asked for and cannot be had is said; of the default nobody need know.
void warn_if_unwatched(const Session& session, const CommandLine& line, const launch::Watchdog& watchdog) {
  const bool is_wanted = line.watchdog && watchdog_seconds(line) > 0.0 && session.communicator()->size() > 1;
  if (!session.is_root() || !is_wanted || watchdog.watches()) return;
  fmt::print(
      stderr,
      "warning: --watchdog {} does nothing, because this MPI lacks MPI_THREAD_MULTIPLE: only the time limit "
      "of the job ends a job that stands still\n",
      *line.watchdog);
}

int run(Session& session, int argc, char** argv) {
  CommandLine line;
  if (const auto code = parse(session, argc, argv, line)) return *code;
  // Without checkpoints a signal ends the program as it always does.
  std::optional<StopSignals> signals;
  session.prepare([&] {
    require_trace(line);
    require_record(line);
    const std::vector<std::string> usual = {"TERM", "USR1"};
    if (!line.checkpoint.empty()) signals.emplace(line.stop_on.empty() ? usual : line.stop_on);
  });
  Plan plan = make_plan(session, line);
  if (plan.checkpoints.snapshots.every > 0) session.let_ranks_fail();
  plan.commands = {{argv, argv + argc}, repetition_of(argv[0], plan.folder, line)};
  // Of a newcomer the ranks are others by then.
  const bool tells = session.is_root() && !plan.checkpoints.joins;
  if (tells) fmt::print("{}", banner(plan.configuration, *plan.data, *session.communicator()));
  launch::Watchdog watchdog("kadam-train", plan.watchdog_seconds);
  warn_if_unwatched(session, line, watchdog);
  std::vector<RunSummary> runs;
  for (const std::string& algorithm : plan.algorithms) {
    Trainer trainer(plan.configuration, algorithm, *plan.data, session.communicator());
    trainer.watch_with(watchdog);
    trainer.started_by(plan.commands);
    const std::unique_ptr<trace::Timeline> timeline = start_timeline(session, line);
    if (timeline) trainer.trace_with(*timeline);
    if (!line.record.empty()) session.prepare([&] { trainer.record_into(line.record); });
    if (tells) {
      fmt::print("{}", banner_of(trainer.optimizer(), plan.configuration));
      std::fflush(stdout);
    }
    runs.push_back(trainer.run(plan.folder_of(algorithm), plan.checkpoints_of(algorithm)));
    session.go_on_with(trainer.communicator(), trainer.has_lost_ranks());
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
