// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation.hpp"

#include <utility>

namespace gray_scott {

Simulation::Simulation(const Settings& settings, MPI_Comm ranks, std::shared_ptr<kadam::Communicator> program)
    : settings_(settings),
      program_(std::move(program)),
      slab_(ranks, settings.solver.width, settings.solver.height, settings.surrogate.radius,
            program_->stages_through_host()),
      solver_(exec_, settings.solver, slab_),
      history_(exec_, slab_, settings.surrogate.history),
      training_(exec_, settings, slab_, make_training_communicator(ranks, program_->stages_through_host())),
      prediction_(slab_.make_field(exec_, "gray_scott::prediction")) {}

void Simulation::run(const std::filesystem::path& folder) {
  Report report(folder, settings_, *program_, training_);
  spin_up();
  for (std::int64_t jump = 1; jump <= settings_.training.jumps; ++jump) {
    advance_one_jump();
    train(jump, report);
  }
  training_.finish(exec_);
  judge_unseen_jumps(report);
  report.end(totals_, 2 * slab_.bytes_sent(1));
}

/// Runs solver.spin_up time steps and one more jump, from which the scaling is measured.
void Simulation::spin_up() {
  solver_.start_from(exec_, spots_and_noise(settings_.solver));
  solver_.advance(exec_, settings_.solver.spin_up);
  history_.add(exec_, solver_.field());
  advance_one_jump();
  training_.set_scaling(
      Scaling::of_jump(exec_, *program_, slab_, history_.second_newest(), history_.newest()));
  totals_ = {};
}

void Simulation::advance_one_jump() {
  const Kokkos::Timer timer;
  solver_.advance(exec_, settings_.surrogate.jump);
  exec_.fence("gray_scott: a jump of the solver");
  totals_.solver_seconds += timer.seconds();
  totals_.time_steps += settings_.surrogate.jump;
  history_.add(exec_, solver_.field());
}

void Simulation::train(std::int64_t jump, Report& report) {
  const TrainingOptions& options = settings_.training;
  // Judges before it trains: the surrogate has seen no part of the newest jump.
  const bool is_judged = jump % options.evaluate_every == 0 || jump == options.jumps;
  const Errors errors = is_judged ? judge_newest() : Errors{};
  const Kokkos::Timer timer;
  double loss = 0.0;
  TrainingStep step;
  for (std::int64_t k = 0; k < options.steps_per_jump; ++k) {
    step = training_.step(exec_, history_);
    loss += step.loss / static_cast<double>(options.steps_per_jump);
    totals_.bytes += step.bytes;
    totals_.planned_bytes += step.planned_bytes;
    totals_.control_bytes += step.control_bytes;
    ++totals_.steps;
  }
  exec_.fence("gray_scott: training steps");
  totals_.training_seconds += timer.seconds();
  if (!is_judged) return;
  report.training(jump, solver_.time(), errors, program_->sum_over_ranks(loss) / program_->size(), step,
                  totals_);
}

Errors Simulation::judge_newest() {
  const Field before = history_.second_newest();
  const Field truth = history_.newest();
  training_.update_consensus(exec_);
  training_.predict(exec_, before, prediction_);
  return {relative_error(exec_, *program_, slab_, before, truth),
          relative_error(exec_, *program_, slab_, prediction_, truth)};
}

/// The solver goes on. The surrogate goes on from the last state of the training and sees no later one.
void Simulation::judge_unseen_jumps(Report& report) {
  const Field last_seen = slab_.make_field(exec_, "gray_scott::last_seen");
  const Field alone = slab_.make_field(exec_, "gray_scott::alone");
  Kokkos::deep_copy(exec_, last_seen, history_.newest());
  Kokkos::deep_copy(exec_, alone, last_seen);
  const std::uint64_t hash = training_.update_consensus(exec_);
  for (std::int64_t jump = 1; jump <= settings_.training.unseen_jumps; ++jump) {
    advance_one_jump();
    const Errors one_jump = judge_newest();
    training_.predict(exec_, alone, prediction_);
    Kokkos::deep_copy(exec_, alone, prediction_);
    slab_.exchange(exec_, alone, slab_.halo());
    const Field truth = history_.newest();
    const Errors errors = {relative_error(exec_, *program_, slab_, last_seen, truth),
                           relative_error(exec_, *program_, slab_, alone, truth)};
    report.unseen(jump, solver_.time(), one_jump, errors, hash);
  }
  report.fields(slab_.gather(history_.newest()), slab_.gather(alone));
}

}  // namespace gray_scott
