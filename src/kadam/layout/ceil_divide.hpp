// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace kadam {

/// The parts of b that a >= 0 is cut into, the last of them perhaps shorter: ceil(a / b); 0 if b = 0.
constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : (a + b - 1) / b;
}

}  // namespace kadam
