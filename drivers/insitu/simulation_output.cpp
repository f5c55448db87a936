// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/simulation.hpp>
#include <kadam/io/safetensors.hpp>
#include <launch/quantities.hpp>

#include <fmt/format.h>

namespace kadam::insitu {

double Simulation::mean_over_ranks(double value) {
  return program_->sum_over_ranks(value) / program_->size();
}

void Simulation::log(std::int64_t jump, const UnseenJump& errors, double loss, const OnlineStep& last) {
  const double mean_loss = mean_over_ranks(loss);
  const auto steps = static_cast<double>(summary_.steps);
  if (is_root()) {
    metrics_->write({{"jump", jump},
                     {"time", errors.time},
                     {"step", summary_.steps},
                     {"loss", mean_loss},
                     {"learning_rate", last.result.learning_rate},
                     {"phase", last.result.phase},
                     {"error", errors.one_jump},
                     {"persistence", errors.persistence},
                     {"bytes_per_step", static_cast<double>(last.bytes)},
                     {"bytes_sent", static_cast<std::int64_t>(summary_.bytes_sent)},
                     {"solver_seconds", solver_seconds_ / static_cast<double>(time_steps_)},
                     {"training_seconds", training_seconds_ / steps},
                     {"skipped_steps", training_.optimizer().steps_skipped()}});
  }
  progress_.update(summary_.steps,
                   fmt::format("error {:.4f} (persistence {:.4f})  {}/step", errors.one_jump,
                               errors.persistence, launch::bytes_text(static_cast<double>(last.bytes))));
}

void Simulation::log_unseen(std::int64_t jump, const UnseenJump& errors) {
  if (!is_root()) return;
  metrics_->write({{"unseen_jump", jump},
                   {"time", errors.time},
                   {"persistence", errors.persistence},
                   {"error", errors.one_jump},
                   {"state_persistence", errors.state_persistence},
                   {"rollout_error", errors.rollout},
                   {"replica_hash", fmt::format("{:016x}", summary_.replica_hash)}});
}

void Simulation::summarise() {
  const UnseenJump& last = summary_.unseen.back();
  summary_.last.time = last.time;
  summary_.last.trained_until =
      last.time - static_cast<double>(settings_.training.unseen_jumps * settings_.surrogate.jump) *
                      settings_.solver.time_step;
  summary_.last.spacing = settings_.solver.spacing;
  summary_.last.error = last.rollout;
  summary_.last.unchanged = last.state_persistence;
  summary_.skipped_steps = training_.optimizer().steps_skipped();
  summary_.solver_seconds = solver_seconds_ / static_cast<double>(time_steps_);
  summary_.training_seconds = training_seconds_ / static_cast<double>(summary_.steps);
  if (!is_root()) return;
  metrics_->write({{"steps", summary_.steps},
                   {"skipped_steps", summary_.skipped_steps},
                   {"bytes_sent", static_cast<std::int64_t>(summary_.bytes_sent)},
                   {"node_bytes", static_cast<std::int64_t>(summary_.node_bytes)},
                   {"planned_bytes", static_cast<std::int64_t>(summary_.planned_bytes)},
                   {"control_bytes", static_cast<std::int64_t>(summary_.control_bytes)},
                   {"dense_bytes_per_step", summary_.dense_bytes_per_step},
                   {"halo_bytes_per_time_step", static_cast<std::int64_t>(summary_.halo_bytes_per_step)},
                   {"solver_seconds", summary_.solver_seconds},
                   {"training_seconds", summary_.training_seconds}});
}

/// With all that is needed to use them elsewhere.
void Simulation::write_parameters(const std::filesystem::path& folder) const {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, training_.consensus());
  const Scaling& scaling = training_.scaling();
  const auto numbers = [](const std::array<double, species>& of_species) {
    return fmt::format("{:.17g} {:.17g}", of_species[0], of_species[1]);
  };
  io::write_safetensors(folder / "parameters.safetensors", training_.tensors(), {host.data(), host.size()},
                        {{"optimizer", training_.optimizer().name()},
                         {"steps", std::to_string(training_.optimizer().steps_taken())},
                         {"radius", std::to_string(settings_.surrogate.radius)},
                         {"activation", settings_.surrogate.activation},
                         {"input_mean", numbers(scaling.mean)},
                         {"input_deviation", numbers(scaling.deviation)},
                         {"change_size", numbers(scaling.change_size)}});
}

}  // namespace kadam::insitu
