// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

namespace kadam::test {

/// From here on the largest block that operator new is asked for is remembered.
void forget_allocations();
[[nodiscard]] std::size_t largest_allocation();

}  // namespace kadam::test
