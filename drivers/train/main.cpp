// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-train: trains a real model on real data under one or several optimizers.
#include <kadam/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <launch/build_info.hpp>
#include <launch/session.hpp>
#include <train/comparison.hpp>
#include <train/configuration.hpp>
#include <train/report.hpp>
#include <train/trainer.hpp>

namespace kadam::train {
namespace {

using launch::Session;

struct CommandLine {
  std::string config;
  std::vector<std::string> assignments;
  std::vector<std::string> compare;
  std::string run;
};

std::string keys_help() {
  Configuration defaults;
  OptionFields fields;
  defaults.describe(fields);
  std::string text = "Keys of the configuration, with their defaults:\n";
  for (const OptionField& field : fields.fields()) {
    text += fmt::format("  {:<28} {} [{}]\n", field.name, field.help, to_text(field.get()));
  }
  text += "  optimizer.name               which algorithm: ";
  for (const std::string& name : optimizer_names()) text += name + " ";
  text += "[\"adam\"]\n";
  for (const std::string& name : optimizer_names()) {
    text += fmt::format("\nOptions of {0}, as optimizer.KEY or for it alone as optimizer.{0}.KEY:\n", name);
    for (const OptionHelp& option : optimizer_options(name)) {
      text += fmt::format("  {:<28} {} [{}]\n", option.name, option.help, to_text(option.value));
    }
  }
  return text;
}

/// Fills the command line. Returns false when the program is to end, with its exit code.
bool parse(Session& session, int argc, char** argv, CommandLine& line, int& code) {
  CLI::App app{
      "Trains a model on real data with a communication-compressed optimizer.\n"
      "Usage: mpirun -n RANKS kadam-train --config FILE [--compare NAME,NAME...] [--set KEY=VALUE...]"};
  app.add_option("--config", line.config, "TOML file with the sections data, model, training and optimizer");
  app.add_option("--set", line.assignments,
                 "a key of the configuration, as in optimizer.lr=0.001; counts more than the file")
      ->expected(1)
      ->take_all();
  app.add_option("--compare", line.compare, "optimizers to run one after the other, separated by commas")
      ->delimiter(',');
  app.add_option("--run", line.run, "folder for the results [runs/DATE-TIME]");
  app.set_version_flag("--version", launch::build_info("kadam-train"));
  app.footer(keys_help());
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::ParseError& error) {
    const int status = session.is_root() ? app.exit(error) : error.get_exit_code();
    code = status == 0 ? launch::exit_success : launch::exit_usage;
    return false;
  }
}

std::filesystem::path run_folder(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  return fmt::format("runs/{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr)));
}

void print_banner(Session& session, const Configuration& configuration, const workloads::Dataset& data) {
  if (!session.is_root()) return;
  fmt::print("Kadam {}  {} x {} thread(s) of {}\n", KADAM_VERSION_STRING,
             session.communicator()->description(), ExecutionSpace().concurrency(), ExecutionSpace::name());
  fmt::print("data      {}\n", data.description());
  fmt::print("training  {} steps of {} x {} examples, seed {}\n", configuration.training.steps,
             session.communicator()->size(), configuration.training.batch * configuration.training.accumulate,
             configuration.training.seed);
}

void print_plan(const Configuration& configuration, const Optimizer& optimizer) {
  const auto d = optimizer.layout().elements();
  const MemoryUse memory = optimizer.memory();
  const BytesPerStep bytes = optimizer.bytes_per_step();
  fmt::print("\n{}: {} of d = {} parameters in {} tensors\n", optimizer.name(), configuration.model.kind,
             grouped(d), optimizer.layout().tensors().size());
  fmt::print("  memory per rank: parameters and gradient {}, optimizer state {}, messages {}\n",
             bytes_text(8.0 * static_cast<double>(d)), bytes_text(static_cast<double>(memory.state_bytes)),
             bytes_text(static_cast<double>(memory.workspace_bytes)));
  fmt::print("  sent per step by a rank: {}", bytes_text(static_cast<double>(bytes.warmup)));
  if (bytes.steady != bytes.warmup) {
    fmt::print(" in the warm-up, {} after it", bytes_text(static_cast<double>(bytes.steady)));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

int run(Session& session, int argc, char** argv) {
  CommandLine line;
  int code = launch::exit_success;
  if (!parse(session, argc, argv, line, code)) return code;

  Configuration configuration;
  std::unique_ptr<workloads::Dataset> data;
  const std::filesystem::path folder = run_folder(line.run);
  session.prepare([&] {
    configuration = read_configuration(line.config, line.assignments);
    data = workloads::make_dataset(configuration.data);
    if (session.is_root()) require_unused(folder);
  });
  const bool comparing = !line.compare.empty();
  const std::vector<std::string> algorithms =
      comparing ? line.compare : std::vector<std::string>{configuration.optimizer};
  print_banner(session, configuration, *data);

  // All are made before the first is run: a wrong option of the last one is said now, not in an hour.
  for (const std::string& algorithm : algorithms) {
    session.prepare([&] { const Trainer trial(configuration, algorithm, *data, session.communicator()); });
  }
  std::vector<RunSummary> runs;
  for (const std::string& algorithm : algorithms) {
    Trainer trainer(configuration, algorithm, *data, session.communicator());
    if (session.is_root()) print_plan(configuration, trainer.optimizer());
    runs.push_back(trainer.run(comparing ? folder / algorithm : folder));
  }
  if (session.is_root()) {
    fmt::print("\n{}\n", comparison_table(runs));
    if (comparing) write_comparison_json(folder / "comparison.json", runs);
    write_report(folder, configuration, runs);
    fmt::print("Results: {}\n", folder.string());
    fmt::print("Report:  {}\n", (folder / "report.html").string());
  }
  return launch::exit_success;
}

}  // namespace
}  // namespace kadam::train

int main(int argc, char** argv) {
  return kadam::launch::run_program("kadam-train", argc, argv, kadam::train::run);
}
