// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <cstdint>
#include <vector>

namespace kadam {

/// What a rank tells all others before they exchange. It travels as two numbers.
struct Notice {
  double number = 0.0;       ///< whatever the step is about; its sign and NaN travel, too
  std::uint32_t raised = 0;  ///< bits of Optimizer::raise()
  /// 20 bits that are the same on all ranks where their Settings are.
  std::uint32_t settings = 0;
  bool gives_up = false;    ///< this rank cannot take the step
  bool leaves_out = false;  ///< some tensors, for which it has no gradient
};

/// What all ranks have told.
struct Notices {
  std::vector<double> numbers;  ///< by rank
  std::uint32_t raised = 0;     ///< by any
  bool settings_are_equal = true;
  bool all_leave_out = true;
};

/// Collective. Errors: PeerFailure if another rank gives up, unless this one does. Wire: (n - 1) 16 B.
Notices exchange_notices(Communicator& communicator, const Notice& own);

}  // namespace kadam
