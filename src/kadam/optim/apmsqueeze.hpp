// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/frozen_variance_adam.hpp>

#include <memory>
#include <utility>

namespace kadam {

/// APMSqueeze: Adam-preconditioned momentum SGD with error-compensated compression (Tang et al. 2020).
///
/// FrozenVarianceAdam with a code of 1, 2, 4 or 8 bits, a fixed warm-up and no bias correction at all.
/// Worked number: d = 10^6, n = 4, 4 bits, block 2048: 753 kB per step after the warm-up.
class Apmsqueeze final : public FrozenVarianceAdam {
 public:
  struct Options : FrozenVarianceAdam::Options {
    Options() {
      codec.bits = 4;
      common.bias_correction = false;
    }
    /// Errors: std::invalid_argument; there is no default for warmup_steps.
    void validate() const;
  };

  Apmsqueeze(const Options& options, TensorLayout layout, std::shared_ptr<Communicator> communicator)
      : FrozenVarianceAdam("apmsqueeze", options, std::move(layout), std::move(communicator)) {}
};

}  // namespace kadam
