// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <train/configuration.hpp>

#include <string>

namespace kadam {
class Communicator;
class Optimizer;
}  // namespace kadam

namespace kadam::train {

/// What all optimizers are trained on, and how long.
[[nodiscard]] std::string banner(const Configuration& configuration, const workloads::Dataset& data,
                                 const Communicator& program);

/// Parameters, memory and bytes of a step of one of them.
[[nodiscard]] std::string banner_of(const Optimizer& optimizer, const Configuration& configuration);

}  // namespace kadam::train
