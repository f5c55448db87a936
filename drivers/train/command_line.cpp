// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <launch/command_line.hpp>
#include <launch/quantities.hpp>
#include <train/command_line.hpp>
#include <train/key_help.hpp>

namespace kadam::train {
namespace {

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

}  // namespace

std::optional<int> parse(launch::Session& session, int argc, char** argv, CommandLine& line) {
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

CheckpointOptions checkpoint_options(const CommandLine& line) {
  CheckpointOptions options = line.checkpoints;
  options.folder = line.checkpoint;
  if (!line.every.empty()) options.set_every(line.every);
  if (!line.walltime.empty()) options.walltime_seconds = launch::duration_of("--walltime", line.walltime);
  options.goes_on_unsaved = line.on_failure == "continue";
  options.validate(!line.compare.empty());
  return options;
}

double watchdog_seconds(const CommandLine& line) {
  const std::string time = line.watchdog.value_or("30min");
  return time == "off" ? 0.0 : launch::duration_of("--watchdog", time);
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

std::vector<std::string> repetition_of(const std::string& program, const std::filesystem::path& folder,
                                       const CommandLine& line) {
  std::vector<std::string> words = {program, "--config", (folder / "config.toml").string()};
  if (!line.compare.empty())
    words.insert(words.end(), {"--compare", fmt::format("{}", fmt::join(line.compare, ","))});
  return words;
}

}  // namespace kadam::train
