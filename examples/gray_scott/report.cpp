// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <kadam/collectives/dense_mean.hpp>
#include <kadam/io/safetensors.hpp>
#include <kadam/version.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <iostream>

namespace gray_scott {
namespace {

using Json = nlohmann::ordered_json;

template <class Number>
std::string kilobytes(Number bytes) {
  return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
}

/// As NumPy reads it: float32 [species][row][column].
void write_npy(const std::filesystem::path& path, const HostField& field) {
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}, {}), }}",
                                   field.extent(1), field.extent(0), field.extent(2));
  header.resize(117, ' ');  // numbers begin at byte 128: 10 before the header, and the end of its line
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY\x01" << '\0' << '\x76' << '\0' << header << '\n';
  for (std::size_t s = 0; s < field.extent(1); ++s) {
    for (std::size_t y = 0; y < field.extent(0); ++y) {
      for (std::size_t x = 0; x < field.extent(2); ++x) {
        const auto value = static_cast<float>(field(y, s, x));
        file.write(reinterpret_cast<const char*>(&value), sizeof value);
      }
    }
  }
  if (!file.flush()) throw std::runtime_error(path.string() + ": cannot write this file");
}

}  // namespace

Report::Report(const std::filesystem::path& folder, const Settings& settings,
               const kadam::Communicator& program, const Training& training)
    : is_root_(program.rank() == 0), folder_(folder), settings_(settings), training_(training) {
  if (!is_root_) return;
  metrics_.open(folder / "metrics.jsonl");
  metrics_.exceptions(std::ios::badbit | std::ios::failbit);
  const SolverOptions& solver = settings.solver;
  const kadam::Optimizer& optimizer = training.optimizer();
  fmt::print("Kadam {}: {}, {}\n", KADAM_VERSION_STRING, program.description(), ExecutionSpace::name());
  fmt::print("solver     Gray-Scott, F = {}, k = {}; {} x {} cells, time step {}\n", solver.feed, solver.kill,
             solver.width, solver.height, solver.time_step);
  fmt::print(
      "surrogate  u and v of {0} x {0} cells -> their change over {1} time steps; d = {2} parameters\n",
      2 * settings.surrogate.radius + 1, settings.surrogate.jump, training.tensors().elements());
  fmt::print("training   {}, {} jumps x {} steps of {} x {} examples, seed {}\n", optimizer.name(),
             settings.training.jumps, settings.training.steps_per_jump, program.size(),
             settings.training.batch, settings.training.seed);
  for (const kadam::PlannedTraffic& planned : optimizer.traffic_plan()) {
    if (planned.bytes == 0) continue;
    fmt::print("  a rank sends {} in a {} step", kilobytes(planned.bytes), planned.phase);
    fmt::print("{}\n", planned.every > 1 ? fmt::format(", every {} steps", planned.every) : "");
  }
  fmt::print("\n");
  std::fflush(stdout);
}

void Report::training(std::int64_t jump, double time, const Errors& errors, double loss,
                      const TrainingStep& last, const Totals& totals) {
  if (!is_root_) return;
  metrics_ << Json{{"jump", jump},
                   {"time", time},
                   {"step", totals.steps},
                   {"loss", loss},
                   {"learning_rate", last.result.learning_rate},
                   {"phase", last.result.phase},
                   {"error", errors.surrogate},
                   {"persistence", errors.unchanged},
                   {"bytes_per_step", last.bytes},
                   {"bytes_sent", totals.bytes},
                   {"solver_seconds", totals.solver_seconds / static_cast<double>(totals.time_steps)},
                   {"training_seconds", totals.training_seconds / static_cast<double>(totals.steps)},
                   {"skipped_steps", training_.optimizer().steps_skipped()}}
           << std::endl;
  // Ten lines at most.
  const TrainingOptions& options = settings_.training;
  if (jump * 10 / options.jumps == (jump - options.evaluate_every) * 10 / options.jumps) return;
  fmt::print("{}  step {:>6}/{}  error {:.4f} (persistence {:.4f})  {}/step  {:.1f} s\n",
             training_.optimizer().name(), totals.steps, options.steps(), errors.surrogate, errors.unchanged,
             kilobytes(last.bytes), timer_.seconds());
  std::fflush(stdout);
}

void Report::unseen(std::int64_t jump, double time, const Errors& one_jump, const Errors& alone,
                    std::uint64_t hash) {
  if (!is_root_) return;
  metrics_ << Json{{"unseen_jump", jump},
                   {"time", time},
                   {"persistence", one_jump.unchanged},
                   {"error", one_jump.surrogate},
                   {"state_persistence", alone.unchanged},
                   {"rollout_error", alone.surrogate},
                   {"replica_hash", fmt::format("{:016x}", hash)}}
           << std::endl;
  if (jump == 1) {
    fmt::print(
        "\nUnseen times: the solver goes on, the surrogate no longer learns. Relative L2 errors of u "
        "and v\n"
        "             one jump from the solver's state      by itself since the training ended\n"
        "       time  persistence    surrogate              unchanged    surrogate\n");
  }
  fmt::print("  {:>9.6g}  {:>11.4f}  {:>11.4f}            {:>11.4f}  {:>11.4f}\n", time, one_jump.unchanged,
             one_jump.surrogate, alone.unchanged, alone.surrogate);
}

void Report::fields(const HostField& truth, const HostField& prediction) const {
  if (!is_root_) return;
  write_npy(folder_ / "truth.npy", truth);
  write_npy(folder_ / "prediction.npy", prediction);
}

void Report::end(const Totals& totals, std::int64_t halo_bytes_per_time_step) {
  if (!is_root_) return;
  const kadam::Optimizer& optimizer = training_.optimizer();
  const auto dense = kadam::DenseMean::bytes_sent(optimizer.communicator(), training_.tensors().elements());
  const double solver_seconds = totals.solver_seconds / static_cast<double>(totals.time_steps);
  const double training_seconds = totals.training_seconds / static_cast<double>(totals.steps);
  metrics_ << Json{{"steps", totals.steps},
                   {"skipped_steps", optimizer.steps_skipped()},
                   {"bytes_sent", totals.bytes},
                   {"planned_bytes", totals.planned_bytes},
                   {"control_bytes", totals.control_bytes},
                   {"dense_bytes_per_step", dense},
                   {"halo_bytes_per_time_step", halo_bytes_per_time_step},
                   {"solver_seconds", solver_seconds},
                   {"training_seconds", training_seconds}}
           << std::endl;
  fmt::print("\nTime: {:.0f} us per time step of the solver, {:.2f} ms per training step\n",
             1e6 * solver_seconds, 1e3 * training_seconds);
  fmt::print("Sent by rank 0 with {}: {} per training step; dense Adam {}\n", optimizer.name(),
             kilobytes(static_cast<double>(totals.bytes) / static_cast<double>(totals.steps)),
             kilobytes(dense));
  // With all that is needed to use the parameters elsewhere.
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, training_.consensus());
  const Scaling& scaling = training_.scaling();
  const auto numbers = [](const double(&of)[species]) {
    return fmt::format("{:.17g} {:.17g}", of[0], of[1]);
  };
  kadam::io::write_safetensors(folder_ / "parameters.safetensors", training_.tensors(),
                               {host.data(), host.size()},
                               {{"optimizer", optimizer.name()},
                                {"steps", std::to_string(optimizer.steps_taken())},
                                {"radius", std::to_string(settings_.surrogate.radius)},
                                {"input_mean", numbers(scaling.mean)},
                                {"input_deviation", numbers(scaling.deviation)},
                                {"change_size", numbers(scaling.change_size)}});
  fmt::print("Results: {}; picture.py draws them\n", folder_.string());
}

}  // namespace gray_scott
