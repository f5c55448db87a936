// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace kadam {

/// Who sums what ranks select: every rank all of it, or the owner of a region that region.
enum class SparseExchange : std::uint8_t { own, owner };

}  // namespace kadam
