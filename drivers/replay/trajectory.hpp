// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/optim/optimizer.hpp>
#include <replay/replay_case.hpp>

#include <cstdint>
#include <vector>

namespace kadam::replay {

/// Row `index` of an array [rows][d], which has to stay where it is.
[[nodiscard]] HostVector<const float> row_of(const std::vector<float>& values, std::int64_t index,
                                             std::int64_t d);

/// Takes all steps of a case; returns the parameters of this rank after each: [steps][d]. Collective.
[[nodiscard]] std::vector<float> trajectory(const ReplayCase& recorded, Optimizer& optimizer);

}  // namespace kadam::replay
