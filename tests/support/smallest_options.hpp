// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/make_optimizer.hpp>

#include <cstdint>
#include <string>

namespace kadam::test {

/// Options for an optimizer: a warm-up of `steps` steps if it has one, and defaults for all else.
inline OptionMap options_with_warmup(const std::string& name, std::int64_t steps) {
  const OptimizerTraits& traits = optimizer_traits(name);
  return traits.warmup.empty() ? OptionMap{} : OptionMap{{traits.warmup, steps}};
}

/// options_with_warmup(), and for optimizers with local rounds: ranks agree on their gradients before every
/// step, as with most optimizers, and rounds have two steps.
inline OptionMap options_that_agree(const std::string& name, std::int64_t steps) {
  OptionMap options = options_with_warmup(name, steps);
  if (has_option(name, "nonfinite")) options["nonfinite"] = "each_step";
  if (has_option(name, "sync_interval")) options["sync_interval"] = 2;
  return options;
}

}  // namespace kadam::test
