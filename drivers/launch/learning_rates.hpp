// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/optimizer.hpp>

#include <cstdint>

namespace kadam::launch {

/// Throws UsageError when lr is a list that ends before `steps`: said before the first step, not at the one
/// that has no rate.
void require_learning_rates(const Optimizer& optimizer, std::int64_t steps);

}  // namespace kadam::launch
