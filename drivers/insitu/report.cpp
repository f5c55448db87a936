// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/report.hpp>
#include <launch/quantities.hpp>
#include <launch/title_line.hpp>
#include <launch/traffic_text.hpp>

#include <fmt/format.h>

namespace kadam::insitu {
namespace {

using launch::bytes_text;
using launch::grouped;

/// "14.4 kB per training step; dense Adam 64.0 kB: 4.4 times as many".
std::string sent_text(const Summary& summary) {
  const auto steps = static_cast<double>(summary.steps);
  const double node = static_cast<double>(summary.node_bytes) / steps;
  const double sent = static_cast<double>(summary.bytes_sent) / steps - node;
  std::string text = bytes_text(sent) + " per training step";
  if (node > 0.0) text += fmt::format(", and {} inside its node", bytes_text(node));
  if (sent == 0.0) return text;
  return text + fmt::format("; dense Adam {}: {:.1f} times as many", bytes_text(summary.dense_bytes_per_step),
                            summary.dense_bytes_per_step / sent);
}

}  // namespace

std::string banner(const Settings& settings, const Simulation& simulation, const Communicator& program) {
  const Decomposition& blocks = simulation.grid().decomposition();
  const GrayScottOptions& solver = settings.solver;
  const OnlineOptions& training = settings.training;
  const Optimizer& optimizer = simulation.training().optimizer();
  const std::int64_t side = 2 * settings.surrogate.radius + 1;
  std::string text = launch::title_line(program) + "\n";
  text += fmt::format(
      "solver     Gray-Scott, F = {}, k = {}; {} x {} cells in {} x {} blocks, time step {}; {} of halos per "
      "time "
      "step\n",
      solver.feed, solver.kill, solver.width, solver.height, blocks.columns(), blocks.rows(),
      solver.time_step, bytes_text(static_cast<double>(simulation.solver().halo_bytes_per_step())));
  text += fmt::format(
      "surrogate  u and v of {0} x {0} cells -> their change over {1} time steps; d = {2} parameters\n", side,
      settings.surrogate.jump, grouped(simulation.training().tensors().elements()));
  text += fmt::format("training   {}, {} jumps x {} steps of {} x {} examples, seed {}\n", optimizer.name(),
                      training.jumps, training.steps_per_jump, program.size(), training.batch, training.seed);
  const MemoryUse memory = optimizer.memory();
  text += fmt::format("  memory of a rank: optimizer state {}, messages {}\n",
                      bytes_text(static_cast<double>(memory.state_bytes)),
                      bytes_text(static_cast<double>(memory.workspace_bytes)));
  return text + fmt::format("  sent by a rank: {}\n\n", launch::traffic_text(optimizer.traffic_plan()));
}

std::string results_text(const Settings& settings, const Summary& summary) {
  std::string text =
      "\nUnseen times: the solver goes on, the surrogate does not learn any more. Relative L2 errors of u "
      "and v\n"
      "             one jump from the solver's state      by itself since the training ended\n"
      "       time  persistence    surrogate              unchanged    surrogate\n";
  for (const UnseenJump& jump : summary.unseen) {
    text += fmt::format("  {:>9.6g}  {:>11.4f}  {:>11.4f}            {:>11.4f}  {:>11.4f}\n", jump.time,
                        jump.persistence, jump.one_jump, jump.state_persistence, jump.rollout);
  }
  text += fmt::format("\nTime: {} per time step of the solver, {} per training step\n",
                      launch::seconds_text(summary.solver_seconds),
                      launch::seconds_text(summary.training_seconds));
  text += fmt::format("Sent by rank 0 with {}: {}\n", settings.optimizer.name, sent_text(summary));
  if (summary.skipped_steps > 0) {
    text += fmt::format("Skipped: {} of {} steps had a NaN or infinite gradient on some rank\n",
                        summary.skipped_steps, summary.steps);
  }
  return text;
}

}  // namespace kadam::insitu
