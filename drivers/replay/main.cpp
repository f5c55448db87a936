// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-replay: an optimizer over a recorded stream of gradients. "What would compression do to my run?"
#include <kadam/io/npy.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <launch/build_info.hpp>
#include <launch/session.hpp>
#include <replay/replay_case.hpp>

namespace kadam::replay {
namespace {

using launch::Session;

HostVector<const float> row(const std::vector<float>& values, std::int64_t index, std::int64_t d) {
  using Unmanaged = Kokkos::View<const float*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  return Unmanaged(values.data() + index * d, static_cast<std::size_t>(d));
}

/// The trajectory of this rank: [steps][d].
std::vector<float> replay(const ReplayCase& recorded, Optimizer& optimizer) {
  const ExecutionSpace exec;
  const std::int64_t d = recorded.tensors.elements();
  const auto parameters = allocate<float>(exec, "kadam-replay::parameters", d);
  const auto gradient = allocate<float>(exec, "kadam-replay::gradient", d);
  const HostVector<float> snapshot("kadam-replay::snapshot", static_cast<std::size_t>(d));
  Kokkos::deep_copy(exec, parameters, row(recorded.parameters, 0, d));
  std::vector<float> trajectory;
  trajectory.reserve(recorded.gradients.size());
  for (std::int64_t t = 0; t < recorded.steps; ++t) {
    Kokkos::deep_copy(exec, gradient, row(recorded.gradients, t, d));
    optimizer.step(exec, parameters, gradient);
    Kokkos::deep_copy(exec, snapshot, parameters);
    exec.fence("kadam-replay: snapshot");
    trajectory.insert(trajectory.end(), snapshot.data(), snapshot.data() + d);
  }
  return trajectory;
}

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
                    row(own, 0, length));
  communicator.all_gather(exec, Traffic::control, bytes_of(all), pieces);
  std::vector<float> host(static_cast<std::size_t>(ranks * length));
  using Unmanaged = Kokkos::View<float*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(Unmanaged(host.data(), host.size()), all);
  return host;
}

int run(Session& session, int argc, char** argv) {
  CLI::App app{
      "Runs an optimizer over a recorded stream of gradients and writes the trajectory of the parameters."};
  std::string folder;
  std::string out;
  app.add_option("--case", folder, "folder with case.json, gradients.npy and parameters.npy")->required();
  app.add_option("--out", out, "float32 [ranks][steps][d]: the parameters of each rank after each step")
      ->required();
  app.set_version_flag("--version", launch::build_info("kadam-replay"));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = session.is_root() ? app.exit(error) : error.get_exit_code();
    return code == 0 ? launch::exit_success : launch::exit_usage;
  }

  Communicator& communicator = *session.communicator();
  ReplayCase recorded;
  session.prepare([&] { recorded = read_case(folder, communicator.rank(), communicator.size()); });
  std::unique_ptr<Optimizer> optimizer;
  session.prepare([&] {
    optimizer =
        make_optimizer(recorded.algorithm, recorded.options, recorded.tensors, session.communicator());
  });
  const std::vector<float> trajectory = replay(recorded, *optimizer);
  const std::size_t sent = communicator.bytes_sent().total();
  const std::vector<float> all = gather(communicator, trajectory);
  session.prepare([&] {
    if (!session.is_root()) return;
    io::write_npy(out, std::vector<std::int64_t>{recorded.ranks, recorded.steps, recorded.tensors.elements()},
                  all);
    fmt::print("{}: {} steps of {} parameters on {} ranks, {} skipped, {} bytes sent by rank 0 -> {}\n",
               recorded.algorithm, optimizer->steps_taken(), recorded.tensors.elements(), recorded.ranks,
               optimizer->steps_skipped(), sent, out);
  });
  return launch::exit_success;
}

}  // namespace
}  // namespace kadam::replay

int main(int argc, char** argv) {
  return kadam::launch::run_program("kadam-replay", argc, argv, kadam::replay::run);
}
