// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-replay: an optimizer over a recorded stream of gradients. "What would compression do to my run?"
#include <launch/command_line.hpp>
#include <launch/session.hpp>
#include <replay/choice.hpp>
#include <replay/output.hpp>
#include <replay/recorded_gradients.hpp>
#include <replay/replay.hpp>
#include <replay/replay_case.hpp>
#include <replay/summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <limits>

namespace kadam::replay {
namespace {

using launch::Session;

struct CommandLine {
  std::filesystem::path folder;
  Wishes wishes;
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  std::filesystem::path out;
  bool json = false;
};

/// The exit code when the program is to end here.
std::optional<int> parse(Session& session, int argc, char** argv, CommandLine& line) {
  launch::Options options(
      "kadam-replay",
      "Shows what compression would do to a run: runs an optimizer and a dense one over recorded gradients,\n"
      "and prints how far each tensor moves away from the dense result.",
      "mpirun -n RANKS kadam-replay --case FOLDER [--optimizer NAME] [--set KEY=VALUE]...");
  options
      .add(
          "--case", "FOLDER", line.folder,
          "folder with case.json, parameters.npy and gradients, as\nkadam.torch.Recorder writes it; required")
      .needed();
  options.add("--optimizer", "NAME", line.wishes.algorithm,
              "name of the optimizer (default: the one in --config, else in\ncase.json)");
  options
      .add("--set", "KEY=VALUE", line.wishes.assignments,
           "set an option of the optimizer, as in lr=0.001 or\nwarmup_steps=100; overrides --config and "
           "case.json")
      .repeatable();
  options.add("--config", "FILE", line.wishes.config,
              "TOML file of kadam-train; only its section optimizer is used");
  options.add("--steps", "N", line.steps, "only the first N steps (default: all)")
      .range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max());
  options.add("--out", "FILE", line.out,
              "npy file to write, float32 [ranks][steps][d]: the parameters of\neach rank after each step");
  options.add_flag("--json", line.json, "print one JSON object instead of the table");
  options.set_footer("kadam-doctor --optimizers lists the optimizers and their options.");
  return options.parse(session, argc, argv);
}

/// Said before the steps are taken, not after.
void require_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(folder)) {
    throw launch::UsageError("--out " + file.string() + ": there is no folder " + folder.string());
  }
}

/// As many as all ranks have recorded, or fewer if so many are not wanted. Collective.
std::int64_t steps_of(const RecordedGradients& gradients, std::int64_t wanted, Communicator& communicator) {
  const std::array<double, 1> own = {static_cast<double>(gradients.steps())};
  const std::vector<double> all = communicator.all_gather_values(own);
  return std::min(wanted, static_cast<std::int64_t>(*std::min_element(all.begin(), all.end())));
}

int run(Session& session, int argc, char** argv) {
  CommandLine line;
  if (const auto code = parse(session, argc, argv, line)) return *code;

  const std::shared_ptr<Communicator>& communicator = session.communicator();
  ReplayCase recorded;
  std::optional<RecordedGradients> gradients;
  Choice choice;
  session.prepare([&] {
    recorded = read_case(line.folder, communicator->size());
    gradients.emplace(recorded, communicator->rank());
    choice = choose(recorded, line.wishes);
    recorded.groups = choice.groups;
    if (session.is_root() && !line.out.empty()) require_folder_of(line.out);
  });
  const std::int64_t steps = steps_of(*gradients, line.steps, *communicator);
  const std::shared_ptr<Communicator> beside = communicator->duplicate();
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Optimizer> dense;
  std::optional<Output> output;
  session.prepare([&] {
    optimizer = choice.make(recorded, steps, communicator);
    dense =
        dense_beside({choice.algorithm, optimizer->options(), choice.groups}).make(recorded, steps, beside);
    if (!line.out.empty()) output.emplace(line.out, *communicator, steps, recorded.tensors.elements());
  });
  Replay replay(recorded, std::move(optimizer), std::move(dense));
  for (std::int64_t t = 0; t < steps; ++t) {
    replay.step(*gradients, t);
    if (output) output->write(ExecutionSpace(), replay.own_communicator(), t, replay.parameters());
  }
  if (output) output->commit();
  const Summary summary = replay.summary();
  if (session.is_root()) fmt::print("{}", line.json ? to_json(summary) : to_text(summary));
  return launch::exit_success;
}

}  // namespace
}  // namespace kadam::replay

int main(int argc, char** argv) {
  return kadam::launch::run_program("kadam-replay", argc, argv, kadam::replay::run);
}
