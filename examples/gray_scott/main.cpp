// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-insitu: a solver and a surrogate that is trained beside it.
#include "ranks.hpp"
#include "simulation.hpp"
#include <kadam/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>

namespace gray_scott {
namespace {

struct CommandLine {
  std::string config;
  std::vector<std::string> assignments;
  std::string optimizer;
  std::filesystem::path run;
};

/// The exit code if the program is to end here, on all ranks the same; rank 0 alone says why.
std::optional<int> parse(int argc, char** argv, bool is_root, CommandLine& line) {
  CLI::App app(
      "Solves a reaction-diffusion problem and trains a surrogate of the solver on its fields as they "
      "arise,\nwith any of Kadam's optimizers. Then tests the surrogate on times that it has not seen.\n\n"
      "  mpirun -n RANKS kadam-insitu [--config FILE] [--optimizer NAME] [--set KEY=VALUE]...",
      "kadam-insitu");
  app.set_version_flag("--version", "kadam-insitu " KADAM_VERSION_STRING);
  const auto add = [&app](const char* name, const char* unit, auto& value, const char* help) {
    return app.add_option(name, value, help)->type_name(unit);
  };
  add("--config", "FILE", line.config, "TOML file with the sections solver, surrogate, training, optimizer");
  add("--set", "KEY=VALUE", line.assignments, "set a key of the configuration; overrides the file")
      ->expected(1)
      ->take_all();
  add("--optimizer", "NAME", line.optimizer,
      "optimizer to train with; overrides optimizer.name (default adam)");
  add("--run", "FOLDER", line.run, "folder for the results (default runs/DATE-TIME)");
  app.footer(key_help());
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& wish) {  // --help or --version
    if (is_root) app.exit(wish);
    return exit_success;
  } catch (const CLI::ParseError& error) {
    if (is_root) fmt::print(stderr, "kadam-insitu: {}; see kadam-insitu --help\n", error.what());
    return exit_usage;
  }
}

void require_unused(const std::filesystem::path& folder) {
  for (const char* file : {"config.toml", "metrics.jsonl", "parameters.safetensors"}) {
    if (std::filesystem::exists(folder / file)) {
      throw std::runtime_error(
          fmt::format("{} holds {} already: choose another --run folder, nothing is written over",
                      folder.string(), file));
    }
  }
}

void create_run(const std::filesystem::path& folder, const std::string& configuration) {
  std::error_code reason;
  std::filesystem::create_directories(folder, reason);
  if (reason) {
    throw std::runtime_error(
        fmt::format("--run {}: cannot create the folder: {}", folder.string(), reason.message()));
  }
  std::ofstream file(folder / "config.toml");
  if (!(file << configuration).flush())
    throw std::runtime_error(folder.string() + ": cannot write into this folder");
}

int run(int argc, char** argv, const std::shared_ptr<kadam::Communicator>& program) {
  const bool is_root = program->rank() == 0;
  CommandLine line;
  if (const auto code = parse(argc, argv, is_root, line)) return *code;
  if (line.run.empty()) line.run = fmt::format("runs/{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr)));
  Settings settings;
  std::unique_ptr<Simulation> simulation;
  together(*program, [&] {
    settings = read_settings(line.config, line.assignments, line.optimizer);
    if (is_root) require_unused(line.run);
  });
  together(*program, [&] { simulation = std::make_unique<Simulation>(settings, MPI_COMM_WORLD, program); });
  together(*program, [&] {
    if (is_root) create_run(line.run, settings.toml);
  });
  simulation->run(line.run);
  return exit_success;
}

}  // namespace
}  // namespace gray_scott

int main(int argc, char** argv) {
  using Program = std::shared_ptr<kadam::Communicator>;
  return gray_scott::run_on_all_ranks(
      argc, argv, [&](const Program& program) { return gray_scott::run(argc, argv, program); });
}
