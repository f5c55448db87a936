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
              "folder for checkpoints, which all ranks must see; with --compare\nit holds one folder for "
              "each optimizer");
  options.add("--checkpoint-every", "N|TIME", line.every,
              "steps, or time as in 15min, between checkpoints (default: only at\nthe end and when the run "
              "is stopped)");
  options.add("--checkpoint-keep", "N", line.checkpoints.keep,
              "number of newest checkpoints to keep (default 2; 0: all)");
  options
      .add("--checkpoint-failure", "stop|continue", line.on_failure,
           "stop or continue if a checkpoint cannot be written (default stop);\nearlier checkpoints stay")
      .one_of({"stop", "continue"});
  options
      .add("--snapshot-every", "N", line.checkpoints.snapshots.every,
           "steps between snapshots, copies of the state in the memory of\nanother rank (default 0: none). "
           "If ranks fail, the others go on\nfrom a snapshot. Needs KADAM_WIRE=tcp or mpirun --with-ft ulfm")
      .range(std::int64_t{0}, std::int64_t{1} << 40);
  options
      .add("--snapshot-spread", "N", line.checkpoints.snapshots.spread,
           "steps over which a snapshot travels (default 1; at most\n--snapshot-every)")
      .range(std::int64_t{1}, std::int64_t{1} << 40);
  options.add_flag("--join", line.join,
                   "join the ranks that are training into --run FOLDER, at their next\nsnapshot. Give all "
                   "their options; use a separate mpirun or srun,\nor none. Both sides need KADAM_WIRE=tcp");
  options.add("--resume", "auto|PATH", line.checkpoints.resume,
              "auto: go on from the newest whole checkpoint in --checkpoint, if\nthere is one; PATH: go on "
              "from this checkpoint");
  options
      .add("--stop-on", "NAME,NAME", line.stop_on,
           "with --checkpoint: if any rank gets one of these signals, all\nranks save after the same step "
           "and end with exit code 75 (default\nTERM,USR1)")
      .comma_separated();
  options.add("--walltime", "TIME", line.walltime,
              "save and end with exit code 75 after this time, as in 3h50min:\ngive the job's time limit, "
              "less one step and one checkpoint");
}

}  // namespace

std::optional<int> parse(launch::Session& session, int argc, char** argv, CommandLine& line) {
  launch::Options options(
      "kadam-train",
      "Trains a model on real data with a communication-compressed optimizer, or compares several.",
      "mpirun -n RANKS kadam-train [--config FILE] [--set KEY=VALUE]... [--compare NAME,NAME...]");
  options.add("--config", "FILE", line.config,
              "TOML file with the sections data, model, training, optimizer");
  options
      .add("--set", "KEY=VALUE", line.assignments,
           "set a key of the configuration, as in optimizer.lr=0.001;\noverrides the file")
      .repeatable();
  options
      .add("--compare", "NAME,NAME", line.compare,
           "optimizers to run one after the other, instead of\noptimizer.name")
      .comma_separated();
  options.add_flag("--trace", line.trace,
                   "write RUN/trace.json, a timeline of computing, encoding and\nsending on each rank, for "
                   "chrome://tracing or ui.perfetto.dev");
  options
      .add("--trace-steps", "FIRST LAST", line.trace_steps,
           "first and last step in the timeline (default: all steps); a rank\nkeeps at most a million events")
      .positive_numbers(2);
  options.add("--record", "FOLDER", line.record,
              "new folder, which all ranks must see, for the gradients of each\nrank and step; kadam-replay "
              "reads it");
  options.add("--run", "FOLDER", line.run, "folder for the results (default runs/DATE-TIME)");
  add_checkpoint_options(options, line);
  options.add("--watchdog", "TIME", line.watchdog,
              "if no step ends or a rank is silent for this time, name the rank\nand end the job (default "
              "30min; off: never)");
  options.set_footer(key_help());
  return options.parse(session, argc, argv);
}

namespace {

/// Throws UsageError for options that cannot go with --snapshot-every, which lets the number of ranks change.
void require_snapshots(const CommandLine& line) {
  if (line.trace || !line.record.empty())
    throw launch::UsageError(
        "--snapshot-every goes on without failed ranks, but --trace and --record need all ranks until the "
        "end: leave them out");
  if (line.watchdog)
    throw launch::UsageError(
        "--snapshot-every goes on without a rank that stands still, but --watchdog ends the job: leave one "
        "of them out. With --snapshot-every, KADAM_TIMEOUT_SECONDS sets how long ranks wait");
  const checkpoint::SnapshotOptions& snapshots = line.checkpoints.snapshots;
  if (snapshots.spread > snapshots.every)
    throw launch::UsageError(
        fmt::format("--snapshot-spread {}: expected at most the {} steps of --snapshot-every",
                    snapshots.spread, snapshots.every));
}

void require_join(const CommandLine& line) {
  if (line.run.empty() || line.checkpoints.snapshots.every == 0)
    throw launch::UsageError(
        "--join needs the --run FOLDER and the --snapshot-every N of the ranks that are training: give "
        "these, and all their other options");
  if (!line.compare.empty())
    throw launch::UsageError(
        "--join joins a single training run, and --compare starts several: leave --compare out");
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
  if (options.folder.empty() && !line.stop_on.empty())
    throw launch::UsageError("--stop-on needs a folder: give it with --checkpoint FOLDER");
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
        "--trace and the tool of KOKKOS_TOOLS_LIBS use the same callbacks of Kokkos: leave out --trace, or "
        "unset KOKKOS_TOOLS_LIBS");
  if (line.trace_steps.empty()) return;
  if (!line.trace) throw launch::UsageError("--trace-steps chooses steps for --trace: give --trace as well");
  if (line.trace_steps.front() > line.trace_steps.back())
    throw launch::UsageError("--trace-steps FIRST LAST: expected FIRST to be at most LAST");
}

void require_record(const CommandLine& line) {
  if (line.record.empty()) return;
  if (!line.compare.empty() || !line.checkpoint.empty())
    throw launch::UsageError(
        "--record needs one training run from its beginning to its end: leave --compare and --checkpoint "
        "out");
  if (std::filesystem::exists(std::filesystem::path(line.record) / "case.json"))
    throw launch::UsageError("--record " + line.record +
                             ": this folder holds a recording already: choose a new folder");
}

std::vector<std::string> repetition_of(const std::string& program, const std::filesystem::path& folder,
                                       const CommandLine& line) {
  std::vector<std::string> words = {program, "--config", (folder / "config.toml").string()};
  if (!line.compare.empty())
    words.insert(words.end(), {"--compare", fmt::format("{}", fmt::join(line.compare, ","))});
  return words;
}

}  // namespace kadam::train
