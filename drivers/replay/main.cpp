// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-replay: an optimizer over a recorded stream of gradients. "What would compression do to my run?"
#include <kadam/io/npy.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <launch/command_line.hpp>
#include <launch/optimizer_steps.hpp>
#include <launch/session.hpp>
#include <replay/replay_case.hpp>
#include <replay/trajectory.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

namespace kadam::replay {
namespace {

using launch::Session;

/// [ranks][steps][d] on all ranks; rank 0 writes it.
std::vector<float> gather(Communicator& communicator, const std::vector<float>& own) {
  const ExecutionSpace exec;
  const auto length = static_cast<std::int64_t>(own.size());
  const auto ranks = static_cast<std::int64_t>(communicator.size());
  const auto all = allocate<float>(exec, "kadam-replay::all", ranks * length);
  std::vector<Piece> pieces;
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
    pieces.push_back({r * own.size() * sizeof(float), own.size() * sizeof(float)});
  }
  const std::int64_t first = communicator.rank() * length;
  Kokkos::deep_copy(exec, Kokkos::subview(all, Kokkos::make_pair(first, first + length)),
                    row_of(own, 0, length));
  communicator.all_gather(exec, Traffic::control, bytes_of(all), pieces);
  std::vector<float> host(static_cast<std::size_t>(ranks * length));
  using Unmanaged = Kokkos::View<float*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(Unmanaged(host.data(), host.size()), all);
  return host;
}

struct Paths {
  std::filesystem::path folder;
  std::filesystem::path out;
};

/// The exit code when the program is to end here.
std::optional<int> parse(Session& session, int argc, char** argv, Paths& paths) {
  launch::Options options(
      "kadam-replay",
      "Runs an optimizer over a recorded stream of gradients and writes the trajectory of the\n"
      "parameters: what compression would do to a run of one's own.",
      "mpirun -n RANKS kadam-replay --case FOLDER --out FILE");
  options
      .add("--case", "FOLDER", paths.folder,
           "folder with case.json, gradients.npy and parameters.npy; needed")
      .needed();
  options
      .add("--out", "FILE", paths.out,
           "npy file to write: float32 [ranks][steps][d],\nthe parameters of each rank after each step; "
           "needed")
      .needed();
  return options.parse(session, argc, argv);
}

/// Said before the steps are taken, not after.
void require_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(folder)) {
    throw launch::UsageError("--out " + file.string() + ": there is no folder " + folder.string());
  }
}

int run(Session& session, int argc, char** argv) {
  Paths paths;
  if (const auto code = parse(session, argc, argv, paths)) return *code;

  Communicator& communicator = *session.communicator();
  ReplayCase recorded;
  session.prepare([&] {
    recorded = read_case(paths.folder, communicator.rank(), communicator.size());
    if (session.is_root()) require_folder_of(paths.out);
  });
  std::unique_ptr<Optimizer> optimizer;
  session.prepare([&] {
    optimizer = make_optimizer(recorded.algorithm, recorded.options, recorded.tensors, session.communicator(),
                               recorded.groups);
    launch::require_learning_rates(*optimizer, recorded.steps);
  });
  const std::size_t sent_before = communicator.bytes_sent().total();
  const std::vector<float> own = trajectory(recorded, *optimizer);
  const std::size_t sent = communicator.bytes_sent().total() - sent_before;
  const std::vector<float> all = gather(communicator, own);
  const std::int64_t d = recorded.tensors.elements();
  session.prepare([&] {
    if (!session.is_root()) return;
    io::write_npy(paths.out, std::vector<std::int64_t>{recorded.ranks, recorded.steps, d}, all);
    fmt::print("{}: {} steps of {} parameters on {} ranks, {} skipped, {} bytes sent by rank 0 -> {}\n",
               recorded.algorithm, optimizer->steps_taken(), d, recorded.ranks, optimizer->steps_skipped(),
               sent, paths.out.string());
  });
  return launch::exit_success;
}

}  // namespace
}  // namespace kadam::replay

int main(int argc, char** argv) {
  return kadam::launch::run_program("kadam-replay", argc, argv, kadam::replay::run);
}
