// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/command_line.hpp>
#include <launch/quantities.hpp>
#include <train/command_line.hpp>
#include <train/configuration.hpp>

#include <Kokkos_Core.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kadam::train {
namespace {

void add_checkpoint_options(launch::Options& options, CommandLine& line) {
  options.add("--checkpoint", "FOLDER", line.checkpoint,
              "folder for checkpoints, seen by all ranks; with --compare one\nfor each optimizer in it");
  options.add("--checkpoint-every", "N|TIME", line.every,
              "steps, or minutes as in 15min, between checkpoints (default: at\nthe end, and when stopped)");
  options.add("--checkpoint-keep", "N", line.checkpoints.keep,
              "newest checkpoints that stay (default 2; 0: all)");
  options
      .add("--checkpoint-failure", "stop|continue", line.on_failure,
           "when one cannot be written (default stop); those before it\nstay")
      .one_of({"stop", "continue"});
  options
      .add(
          "--snapshot-every", "N", line.checkpoints.snapshots.every,
          "steps between copies of the state in the memory of another\nrank: if ranks fail, the others go on "
          "from there (default 0:\nnone; needs KADAM_WIRE=tcp or mpirun --with-ft ulfm)")
      .range(std::int64_t{0}, std::int64_t{1} << 40);
  options
      .add("--snapshot-spread", "N", line.checkpoints.snapshots.spread,
           "steps over which such a copy travels (default 1)")
      .range(std::int64_t{1}, std::int64_t{1} << 40);
  options.add_flag(
      "--join", line.join,
      "join the ranks that train into --run FOLDER now, at their next\nsnapshot: with all options as "
      "theirs, in an mpirun or srun of its\nown or without (needs KADAM_WIRE=tcp on both sides)");
  options.add(
      "--resume", "auto|PATH", line.checkpoints.resume,
      "auto: go on from the newest whole checkpoint in --checkpoint,\nif there is one; or that folder");
  options
      .add("--stop-on", "NAME,NAME", line.stop_on,
           "signals, to any rank, on which all ranks save after the same\nstep and end with exit code 75 "
           "(default TERM,USR1)")
      .comma_separated();
  options.add("--walltime", "TIME", line.walltime,
              "the same after this time, as in 3h50min: the job's limit, less\na step and a checkpoint");
}

}  // namespace

std::optional<int> parse(launch::Session& session, int argc, char** argv, CommandLine& line) {
  launch::Options options(
      "kadam-train",
      "Trains a model on real data with a communication-compressed optimizer, or with several to compare.",
      "mpirun -n RANKS kadam-train [--config FILE] [--set KEY=VALUE]... [--compare NAME,NAME...]");
  options.add("--config", "FILE", line.config,
              "TOML file with the sections data, model, training, optimizer");
  options
      .add("--set", "KEY=VALUE", line.assignments,
           "a key of the configuration, as in optimizer.lr=0.001;\ncounts more than the file")
      .repeatable();
  options
      .add("--compare", "NAME,NAME", line.compare,
           "optimizers to run one after the other; optimizer.name is\nnot used")
      .comma_separated();
  options.add_flag(
      "--trace", line.trace,
      "write RUN/trace.json: what each rank computed, encoded and sent,\nand when; for chrome://tracing or "
      "ui.perfetto.dev");
  options
      .add("--trace-steps", "FIRST LAST", line.trace_steps,
           "only from this step to that one (default: from the first on, a\nmillion events of each rank)")
      .positive_numbers(2);
  options.add(
      "--record", "FOLDER", line.record,
      "new folder, seen by all ranks, for the gradients of each rank and\nstep: what kadam-replay reads");
  options.add("--run", "FOLDER", line.run, "folder for the results (default runs/DATE-TIME)");
  add_checkpoint_options(options, line);
  options.add("--watchdog", "TIME", line.watchdog,
              "time without a step after which the job is ended and the rank\nnamed that is the reason "
              "(default 30min; off)");
  options.set_footer(key_help());
  return options.parse(session, argc, argv);
}

namespace {

/// Throws UsageError for options that cannot go with --snapshot-every, which lets the number of ranks change.
void require_snapshots(const CommandLine& line) {
  if (line.trace || !line.record.empty())
    throw launch::UsageError("--snapshot-every lets ranks fail; --trace and --record want all to the end");
  if (line.watchdog)
    throw launch::UsageError(
        "--snapshot-every goes on without a rank that stands still, --watchdog ends the job: leave one of "
        "them out, and say by KADAM_TIMEOUT_SECONDS how long to wait");
  const checkpoint::SnapshotOptions& snapshots = line.checkpoints.snapshots;
  if (snapshots.spread > snapshots.every)
    throw launch::UsageError(
        fmt::format("--snapshot-spread {}: expected at most the {} steps of --snapshot-every",
                    snapshots.spread, snapshots.every));
}

void require_join(const CommandLine& line) {
  if (line.run.empty() || line.checkpoints.snapshots.every == 0)
    throw launch::UsageError(
        "--join joins ranks that train into a folder and take snapshots: give their --run FOLDER and "
        "--snapshot-every N, and all other options as theirs");
  if (!line.compare.empty())
    throw launch::UsageError("--join joins one training: --compare takes no newcomers in");
}

}  // namespace

CheckpointOptions checkpoint_options(const CommandLine& line) {
  CheckpointOptions options = line.checkpoints;
  options.folder = line.checkpoint;
  if (!line.every.empty()) options.set_every(line.every);
  if (!line.walltime.empty()) options.walltime_seconds = launch::duration_of("--walltime", line.walltime);
  options.goes_on_unsaved = line.on_failure == "continue";
  if (options.snapshots.every > 0) require_snapshots(line);
  // With --compare there are several trainings, and a newcomer joins only one.
  options.admits = options.snapshots.every > 0 && line.compare.empty();
  options.joins = line.join;
  if (line.join) require_join(line);
  options.validate(!line.compare.empty());
  return options;
}

/// With snapshots nothing may end the job: a rank that waits in vain reports it, and the others go on.
double watchdog_seconds(const CommandLine& line) {
  if (line.checkpoints.snapshots.every > 0) return 0.0;
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

void require_record(const CommandLine& line) {
  if (line.record.empty()) return;
  if (!line.compare.empty() || !line.checkpoint.empty())
    throw launch::UsageError(
        "--record takes one training from its begin to its end: leave --compare and "
        "--checkpoint out");
  if (std::filesystem::exists(std::filesystem::path(line.record) / "case.json"))
    throw launch::UsageError("--record " + line.record + ": there is a recording already");
}

std::vector<std::string> repetition_of(const std::string& program, const std::filesystem::path& folder,
                                       const CommandLine& line) {
  std::vector<std::string> words = {program, "--config", (folder / "config.toml").string()};
  if (!line.compare.empty())
    words.insert(words.end(), {"--compare", fmt::format("{}", fmt::join(line.compare, ","))});
  return words;
}

}  // namespace kadam::train
