// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/options/learning_rate.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace kadam {

void LearningRate::describe(OptionFields& fields) {
  fields.add("lr", lr, Range::at_least(0.0), "learning rate, or a list with one entry per step");
  fields.add_choice("lr_schedule", lr_schedule, {"constant", "cosine", "steps"}, "how lr falls");
  fields.add("lr_warmup_steps", lr_warmup_steps, Range::at_least(0), "steps of linear warm-up from 0");
  fields.add("lr_total_steps", lr_total_steps, Range::at_least(0),
             "cosine: step at which lr has fallen to its final fraction");
  fields.add("lr_final_fraction", lr_final_fraction, Range::at_least(0.0).up_to(1.0),
             "cosine: what is left of lr at the end");
  fields.add("lr_decay", lr_decay, Range::at_least(0.0), "steps: factor at each decay");
  fields.add("lr_decay_every", lr_decay_every, Range::at_least(0), "steps: number of steps between decays");
}

void LearningRate::validate(std::string_view owner) const {
  require_option(!lr.empty(), owner, "option 'lr' is an empty list: give a number or one entry per step");
  require_option(lr.size() == 1 || (lr_schedule == "constant" && lr_warmup_steps == 0), owner,
                 "'lr' is a list, one entry per step: it takes no lr_schedule and no lr_warmup_steps");
  require_option(lr_schedule != "cosine" || lr_total_steps > lr_warmup_steps, owner,
                 "lr_schedule = \"cosine\" needs lr_total_steps, more than lr_warmup_steps");
  require_option(lr_schedule != "steps" || lr_decay_every > 0, owner,
                 "lr_schedule = \"steps\" needs lr_decay_every > 0");
}

double LearningRate::at(std::int64_t step) const {
  if (lr.size() > 1) {
    if (step < 1 || step > static_cast<std::int64_t>(lr.size())) {
      throw std::out_of_range("kadam::LearningRate: the list 'lr' has " + std::to_string(lr.size()) +
                              " entries and step " + std::to_string(step) + " was asked for");
    }
    return lr[static_cast<std::size_t>(step - 1)];
  }
  const double base = lr.front();
  if (step <= lr_warmup_steps) return base * static_cast<double>(step) / static_cast<double>(lr_warmup_steps);
  if (lr_schedule == "steps") {
    const std::int64_t decays = (step - 1) / lr_decay_every;
    return base * std::pow(lr_decay, static_cast<double>(decays));
  }
  if (lr_schedule == "cosine") {
    const double progress = std::min(1.0, static_cast<double>(step - lr_warmup_steps) /
                                              static_cast<double>(lr_total_steps - lr_warmup_steps));
    const double fraction = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    return base * (lr_final_fraction + (1.0 - lr_final_fraction) * fraction);
  }
  return base;
}

}  // namespace kadam
