// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <plan/kernel_costs.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace kadam::plan_program {

/// Measures the kernels of kadam-bench on all ranks at once, as in training: ranks of one node share its
/// memory. The mean over ranks counts. Vectors are longer than caches: 16 MiB each, of a node's ranks
/// together 32 MiB or more. Collective. Takes 1 to 3 seconds on an idle CPU.
[[nodiscard]] plan::KernelCosts measure_kernels(Communicator& communicator, int ranks_on_node);

/// Seconds per element of a kernel of kadam-bench by its name.
using Timings = std::map<std::string, double, std::less<>>;
/// The kernels of a plan from those of kadam-bench. Errors: std::logic_error for a name that is not there.
[[nodiscard]] plan::KernelCosts costs_of(const Timings& timings);

}  // namespace kadam::plan_program
