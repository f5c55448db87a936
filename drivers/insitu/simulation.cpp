// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/gather_field.hpp>
#include <insitu/relative_error.hpp>
#include <insitu/simulation.hpp>
#include <kadam/collectives/dense_mean.hpp>

#include <algorithm>
#include <utility>

namespace kadam::insitu {
namespace {

/// Blocks that have neighbours' halos inside one neighbour.
Decomposition decomposition_of(const Settings& settings, int ranks) {
  return {ranks, settings.solver.width, settings.solver.height,
          std::max<std::int64_t>(GrayScott::halo(), settings.surrogate.radius)};
}

}  // namespace

Simulation::Simulation(const Settings& settings, std::shared_ptr<Communicator> program)
    : settings_(settings),
      program_(std::move(program)),
      grid_(decomposition_of(settings, program_->size()), *program_),
      solver_(exec_, settings.solver, grid_),
      wide_exchange_(exec_, grid_, settings.surrogate.radius),
      history_(exec_, grid_.block(), settings.surrogate.history, settings.surrogate.radius),
      training_(exec_, settings, grid_.block(), make_training_communicator(*program_)),
      prediction_(make_field(exec_, "kadam-insitu::prediction", grid_.block(), settings.surrogate.radius)),
      progress_(settings.optimizer.name, settings.training.steps(), is_root()) {
  summary_.dense_bytes_per_step = static_cast<double>(
      DenseMean::bytes_sent(training_.optimizer().communicator(), training_.tensors().elements()));
  summary_.halo_bytes_per_step = solver_.halo_bytes_per_step();
}

Summary Simulation::run(const std::filesystem::path& folder) {
  if (is_root()) metrics_ = std::make_unique<io::JsonLinesWriter>(folder / "metrics.jsonl");
  spin_up();
  for (std::int64_t jump = 1; jump <= settings_.training.jumps; ++jump) {
    advance_one_jump();
    train(jump);
  }
  progress_.finish();
  training_.finish(exec_);
  judge_unseen_jumps();
  summarise();
  if (is_root()) write_parameters(folder);
  return summary_;
}

/// One jump more than the configuration says: how large numbers are is seen in a jump.
void Simulation::spin_up() {
  solver_.start_from(exec_, spots_and_noise(settings_.solver));
  solver_.advance(exec_, settings_.solver.spin_up);
  history_.add(exec_, solver_.field(), GrayScott::halo(), wide_exchange_);
  advance_one_jump();
  training_.set_scaling(Scaling::of_jump(exec_, *program_, grid_.block(), history_.second_newest(),
                                         history_.newest(), history_.halo()));
  solver_seconds_ = 0.0;
  time_steps_ = 0;
}

void Simulation::advance_one_jump() {
  const Kokkos::Timer timer;
  solver_.advance(exec_, settings_.surrogate.jump);
  exec_.fence("kadam-insitu: a jump of the solver");
  solver_seconds_ += timer.seconds();
  time_steps_ += settings_.surrogate.jump;
  history_.add(exec_, solver_.field(), GrayScott::halo(), wide_exchange_);
}

void Simulation::train(std::int64_t jump) {
  const OnlineOptions& options = settings_.training;
  // Before it is learned from: no part of the newest jump has been seen.
  const bool is_judged = jump % options.evaluate_every == 0 || jump == options.jumps;
  const UnseenJump errors = is_judged ? judge_newest() : UnseenJump{};
  const Kokkos::Timer timer;
  double loss = 0.0;
  OnlineStep step;
  for (std::int64_t k = 0; k < options.steps_per_jump; ++k) {
    step = training_.step(exec_, history_);
    loss += step.loss / static_cast<double>(options.steps_per_jump);
    summary_.bytes_sent += step.bytes;
    summary_.node_bytes += step.node_bytes;
    summary_.planned_bytes += step.planned_bytes;
    summary_.control_bytes += step.control_bytes;
    ++summary_.steps;
  }
  exec_.fence("kadam-insitu: training steps");
  training_seconds_ += timer.seconds();
  if (is_judged) log(jump, errors, loss, step);
}

UnseenJump Simulation::judge_newest() {
  const Block& block = grid_.block();
  summary_.replica_hash = training_.update_consensus(exec_);
  training_.predict(exec_, history_.second_newest(), prediction_);
  UnseenJump errors;
  errors.time = solver_.time();
  errors.persistence =
      relative_error(exec_, *program_, block, history_.second_newest(), history_.newest(), history_.halo());
  errors.one_jump = relative_error(exec_, *program_, block, prediction_, history_.newest(), history_.halo());
  return errors;
}

/// The solver goes on; the surrogate starts from where the training ended, and does not look any more.
void Simulation::judge_unseen_jumps() {
  const Block& block = grid_.block();
  const std::int64_t halo = history_.halo();
  const Field last_seen = make_field(exec_, "kadam-insitu::last_seen", block, halo);
  const Field rollout = make_field(exec_, "kadam-insitu::rollout", block, halo);
  Kokkos::deep_copy(exec_, last_seen, history_.newest());
  Kokkos::deep_copy(exec_, rollout, history_.newest());
  for (std::int64_t jump = 1; jump <= settings_.training.unseen_jumps; ++jump) {
    advance_one_jump();
    UnseenJump errors = judge_newest();
    training_.predict(exec_, rollout, prediction_);
    Kokkos::deep_copy(exec_, rollout, prediction_);
    wide_exchange_(exec_, rollout);
    errors.rollout = relative_error(exec_, *program_, block, rollout, history_.newest(), halo);
    errors.state_persistence = relative_error(exec_, *program_, block, last_seen, history_.newest(), halo);
    summary_.unseen.push_back(errors);
    log_unseen(jump, errors);
  }
  summary_.last.truth = gather_field(exec_, *program_, grid_, history_.newest(), halo);
  summary_.last.prediction = gather_field(exec_, *program_, grid_, rollout, halo);
}

}  // namespace kadam::insitu
