// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/onebit_adam.hpp>

namespace kadam {

void OnebitAdam::Options::validate() const {
  FrozenVarianceAdam::Options::validate("onebit_adam");
  require_option(
      codec.bits == 1, "onebit_adam",
      "option 'bits': only 1 is possible; apmsqueeze is the same algorithm with 1, 2, 4 or 8 bits");
  require_option(
      warmup_steps.automatic || warmup_steps.steps > 0, "onebit_adam",
      "option 'warmup_steps' is needed: a number of steps > 0 (15 to 25 % of the run is usual), or \"auto\"");
}

}  // namespace kadam
