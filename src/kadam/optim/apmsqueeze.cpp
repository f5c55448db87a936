// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/apmsqueeze.hpp>

namespace kadam {

void Apmsqueeze::Options::validate() const {
  FrozenVarianceAdam::Options::validate("apmsqueeze");
  require_option(!common.bias_correction, "apmsqueeze",
                 "option 'bias_correction': the algorithm has none; leave it out, or use onebit_adam");
  require_option(!warmup_steps.automatic && warmup_steps.steps > 0, "apmsqueeze",
                 "option 'warmup_steps' is needed: a number of steps > 0 (\"auto\" is onebit_adam's)");
}

}  // namespace kadam
