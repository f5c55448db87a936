// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-train: trains a real model on real data under one or several optimizers.
#include <kadam/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <launch/command_line.hpp>
#include <launch/session.hpp>
#include <map>
#include <train/comparison.hpp>
#include <train/configuration.hpp>
#include <train/key_help.hpp>
#include <train/report.hpp>
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
};

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
  app->add_option("--run", line.run, "folder for the results (default runs/DATE-TIME)")->type_name("FOLDER");
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
  std::unique_ptr<workloads::Dataset> data;

  [[nodiscard]] std::filesystem::path folder_of(const std::string& algorithm) const {
    return compares ? folder / algorithm : folder;
  }
};

void create_folder(const std::filesystem::path& folder) {
  std::error_code reason;
  std::filesystem::create_directories(folder, reason);
  if (reason) {
    throw launch::UsageError(
        fmt::format("--run {}: the folder cannot be made: {}", folder.string(), reason.message()));
  }
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
    if (session.is_root()) require_unused(plan.folder, plan.algorithms);
    plan.data = workloads::make_dataset(plan.configuration.data);
  });
  // All are made before the first is run: a wrong option of the last one is said now, not in an hour.
  for (const std::string& algorithm : plan.algorithms) {
    session.prepare(
        [&] { const Trainer trial(plan.configuration, algorithm, *plan.data, session.communicator()); });
  }
  session.prepare([&] {
    if (session.is_root()) create_folder(plan.folder);
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
  write_report(plan.folder, plan.configuration, runs);
  fmt::print("Results: {}\n", plan.folder.string());
  fmt::print("Report:  {}\n", (plan.folder / "report.html").string());
}

int run(Session& session, int argc, char** argv) {
  CommandLine line;
  if (const auto code = parse(session, argc, argv, line)) return *code;
  const Plan plan = make_plan(session, line);
  if (session.is_root()) print_banner(session, plan);
  std::vector<RunSummary> runs;
  for (const std::string& algorithm : plan.algorithms) {
    Trainer trainer(plan.configuration, algorithm, *plan.data, session.communicator());
    if (session.is_root()) print_plan(plan.configuration, trainer.optimizer());
    runs.push_back(trainer.run(plan.folder_of(algorithm)));
  }
  if (session.is_root()) print_results(plan, runs);
  return launch::exit_success;
}

}  // namespace
}  // namespace kadam::train

int main(int argc, char** argv) {
  return kadam::launch::run_program("kadam-train", argc, argv, kadam::train::run);
}
