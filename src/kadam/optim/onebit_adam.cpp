// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/onebit_adam.hpp>

#include <utility>

namespace kadam {

void OnebitAdamOptions::validate() const {
  common.validate("onebit_adam");
  codec.validate("onebit_adam");
  require_option(
      codec.bits == 1, "onebit_adam",
      "option 'bits': only 1 is possible; apmsqueeze is the same algorithm with 1, 2, 4 or 8 bits");
  require_option(
      warmup_steps.automatic || warmup_steps.steps > 0, "onebit_adam",
      "option 'warmup_steps' is needed: a number of steps > 0 (15 to 25 % of the run is usual), or \"auto\"");
}

std::unique_ptr<Optimizer> make_onebit_adam(const OnebitAdamOptions& options, TensorLayout layout,
                                            std::shared_ptr<Communicator> communicator) {
  return std::make_unique<FrozenVarianceAdam>("onebit_adam", options, std::move(layout),
                                              std::move(communicator));
}

}  // namespace kadam
