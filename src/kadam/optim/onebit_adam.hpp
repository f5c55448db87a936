// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/frozen_variance_adam.hpp>

#include <memory>
#include <utility>

namespace kadam {

/// 1-bit Adam: communication-efficient training with Adam's convergence speed (Tang et al. 2021).
///
/// FrozenVarianceAdam with a sign code and bias correction, folded in once when the variance is frozen;
/// correcting a frozen v any longer would make the steps grow. warmup_steps is a number, or "auto": the first
/// step at which VarianceStability holds. Paper: up to 5 times less volume over a whole run. Worked number: d
/// = 10^6, n = 4, block 2048: 6 MB per step in the warm-up, 190 kB after it.
class OnebitAdam final : public FrozenVarianceAdam {
 public:
  struct Options : FrozenVarianceAdam::Options {
    Options() { codec.bits = 1; }
    /// Errors: std::invalid_argument; there is no default for warmup_steps.
    void validate() const;
  };

  OnebitAdam(const Options& options, TensorLayout layout, std::shared_ptr<Communicator> communicator)
      : FrozenVarianceAdam("onebit_adam", options, std::move(layout), std::move(communicator)) {}
};

}  // namespace kadam
