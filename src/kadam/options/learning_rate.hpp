// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/options/option_fields.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kadam {

/// The learning rate gamma of step t = 1, 2, ...
///
/// lr = [a, b, ...]: entry t - 1, as given. lr = a: linear warm-up a t / lr_warmup_steps, then by lr_schedule
/// "constant": a; "cosine": from a down to a lr_final_fraction at lr_total_steps, constant after;
/// "steps": a lr_decay^floor((t - 1) / lr_decay_every).
/// Worked number: lr = 0.1, lr_warmup_steps = 10: step 5 has gamma = 0.05.
struct LearningRate {
  std::vector<double> lr = {1e-3};
  std::string lr_schedule = "constant";
  std::int64_t lr_warmup_steps = 0;
  std::int64_t lr_total_steps = 0;
  double lr_final_fraction = 0.0;
  double lr_decay = 0.1;
  std::int64_t lr_decay_every = 0;

  void describe(OptionFields& fields);
  void validate(std::string_view owner) const;

  /// Errors: std::out_of_range past the end of a list.
  [[nodiscard]] double at(std::int64_t step) const;
};

}  // namespace kadam
