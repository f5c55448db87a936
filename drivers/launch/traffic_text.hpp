// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/optimizer.hpp>

#include <string>
#include <vector>

namespace kadam::launch {

/// "64.0 kB in a warm-up step, 2.1 kB in a compressed step": what a rank sends in each phase, in their order.
[[nodiscard]] std::string traffic_text(const std::vector<PlannedTraffic>& plan);

}  // namespace kadam::launch
