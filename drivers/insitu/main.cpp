// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-insitu: a solver and a surrogate that is trained beside it.
#include <insitu/report.hpp>
#include <insitu/simulation.hpp>
#include <launch/command_line.hpp>
#include <launch/run_folder.hpp>
#include <workloads/blas_threads.hpp>

#include <fmt/format.h>

#include <cstdio>

namespace kadam::insitu {
namespace {

using launch::Session;

struct CommandLine {
  std::string config;
  std::vector<std::string> assignments;
  std::string optimizer;
  std::string run;
};

std::optional<int> parse(Session& session, int argc, char** argv, CommandLine& line) {
  launch::Options options(
      "kadam-insitu",
      "Solves a reaction-diffusion problem and trains a surrogate of the solver on its fields as they "
      "arise,\n"
      "with any of Kadam's optimizers. Then judges it on times that it has not seen.",
      "mpirun -n RANKS kadam-insitu [--config FILE] [--optimizer NAME] [--set KEY=VALUE]...");
  options.add("--config", "FILE", line.config,
              "TOML file with the sections solver, surrogate, training,\noptimizer");
  options
      .add("--set", "KEY=VALUE", line.assignments,
           "a key of the configuration, as in solver.feed=0.03;\ncounts more than the file")
      .repeatable();
  options.add("--optimizer", "NAME", line.optimizer, "counts more than optimizer.name (default adam)");
  options.add("--run", "FOLDER", line.run, "folder for the results (default runs/DATE-TIME)");
  options.set_footer(key_help());
  return options.parse(session, argc, argv);
}

void print_results(const std::filesystem::path& folder, const Settings& settings, const Summary& summary) {
  fmt::print("{}", results_text(settings, summary));
  if (write_picture(folder, summary.last)) {
    fmt::print("Picture: {}\n", (folder / "unseen.png").string());
  } else {
    fmt::print("No picture: gnuplot is not installed here; unseen.gnuplot draws it where it is\n");
  }
  fmt::print("Results: {}\n", folder.string());
}

int run(Session& session, int argc, char** argv) {
  CommandLine line;
  if (const auto code = parse(session, argc, argv, line)) return *code;
  const std::filesystem::path folder = launch::run_folder(line.run);
  Settings settings;
  session.prepare([&] {
    settings = read_settings(line.config, line.assignments, line.optimizer);
    if (session.is_root()) launch::require_unused(folder, {});
  });
  workloads::set_blas_threads(ExecutionSpace().concurrency());
  std::unique_ptr<Simulation> simulation;
  session.prepare([&] { simulation = std::make_unique<Simulation>(settings, session.communicator()); });
  session.prepare([&] {
    if (!session.is_root()) return;
    launch::create_folder("--run", folder);
    launch::write_configuration(folder, to_toml(settings, simulation->training().optimizer().options()));
  });
  if (session.is_root()) {
    fmt::print("{}", banner(settings, *simulation, *session.communicator()));
    std::fflush(stdout);
  }
  const Summary summary = simulation->run(folder);
  if (session.is_root()) print_results(folder, settings, summary);
  return launch::exit_success;
}

}  // namespace
}  // namespace kadam::insitu

int main(int argc, char** argv) {
  return kadam::launch::run_program("kadam-insitu", argc, argv, kadam::insitu::run);
}
