// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/make_optimizer.hpp>

#include <cstdint>
#include <string>

namespace kadam::test {

/// The options without a default, and a warm-up of so many steps for every algorithm that has one.
inline OptionMap options_with_warmup(const std::string& name, std::int64_t steps) {
  const OptimizerTraits& traits = optimizer_traits(name);
  return traits.warmup.empty() ? OptionMap{} : OptionMap{{traits.warmup, steps}};
}

/// The same where ranks hear of each other's gradients before every step, as most optimizers do, and where
/// rounds are short.
inline OptionMap options_that_agree(const std::string& name, std::int64_t steps) {
  OptionMap options = options_with_warmup(name, steps);
  if (has_option(name, "nonfinite")) options["nonfinite"] = "each_step";
  if (has_option(name, "sync_interval")) options["sync_interval"] = 2;
  return options;
}

}  // namespace kadam::test
