// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gray_scott {

double SolverOptions::largest_time_step() const {
  return spacing * spacing / (4.0 * std::max(diffusion_u, diffusion_v));
}

void Settings::describe(kadam::OptionFields& fields) {
  using kadam::Range;
  const Range positive = Range::at_least(1);
  const Range any = Range::at_least(0);
  fields.add("solver.width", solver.width, positive, "cells in a row of the periodic grid");
  fields.add("solver.height", solver.height, positive, "cells in a column");
  fields.add("solver.feed", solver.feed, any, "F: rate at which u is fed, per unit of time");
  fields.add("solver.kill", solver.kill, any,
             "k: rate at which v is removed in addition to F, per unit of time");
  fields.add("solver.diffusion_u", solver.diffusion_u, any,
             "D_u: diffusion of u, in units of length^2 per unit of time");
  fields.add("solver.diffusion_v", solver.diffusion_v, any, "D_v: diffusion of v, in the same units");
  fields.add("solver.spacing", solver.spacing, Range::above(0),
             "h: distance between neighbouring cells, in units of length");
  fields.add("solver.time_step", solver.time_step, Range::above(0),
             "time step, in units of time; at most h^2 / (4 max(D_u, D_v))");
  fields.add("solver.spots", solver.spots, any,
             "number of squares of 8 x 8 cells with v in them at the start");
  fields.add("solver.noise", solver.noise, Range::at_least(0).up_to(1),
             "largest v outside these squares at the start");
  fields.add("solver.spin_up", solver.spin_up, any, "time steps before the first training step");
  fields.add("solver.seed", solver.seed, any, "seed of the spots and of the noise");
  fields.add("surrogate.jump", surrogate.jump, positive,
             "time steps of the solver that the surrogate takes at once");
  fields.add("surrogate.radius", surrogate.radius, Range::at_least(1).up_to(64),
             "cells that the surrogate sees on each side of a cell");
  fields.add("surrogate.hidden", surrogate.hidden, positive, "widths of the hidden layers");
  fields.add("surrogate.history", surrogate.history, positive.up_to(4096),
             "number of latest jumps from which examples are drawn");
  fields.add("training.jumps", training.jumps, positive, "jumps of the solver while the surrogate learns");
  fields.add("training.steps_per_jump", training.steps_per_jump, positive, "optimizer steps after each jump");
  fields.add("training.batch", training.batch, positive,
             "examples per rank and step, from the rank's own rows");
  fields.add("training.seed", training.seed, any, "seed of the initial parameters and the examples");
  fields.add("training.evaluate_every", training.evaluate_every, positive,
             "jumps between evaluations; each takes a jump that is still unseen");
  fields.add("training.unseen_jumps", training.unseen_jumps, positive,
             "jumps after training on which the surrogate is tested");
}

void Settings::validate() const {
  if (solver.time_step <= solver.largest_time_step()) return;
  throw std::invalid_argument(fmt::format(
      "'solver.time_step': {} is not stable with this spacing and diffusion: expected at most {:.4g}",
      solver.time_step, solver.largest_time_step()));
}

std::string key_help() {
  Settings defaults;
  kadam::OptionFields fields;
  defaults.describe(fields);
  std::string text = "Keys of the configuration:\n";
  for (const kadam::OptionField& field : fields.fields()) {
    text += fmt::format("  {:<24} {} (default {})\n", field.name, field.help, to_text(field.get()));
  }
  return text +
         "  optimizer.KEY            option of the optimizer; kadam-doctor --optimizers lists them all\n";
}

}  // namespace gray_scott
