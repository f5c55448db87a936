// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <cstdint>
#include <vector>

namespace kadam {

/// A rank's message to all others before they exchange vectors. It travels as two numbers in float64.
struct Notice {
  double number = 0.0;       ///< chosen by the caller, such as a squared norm; its sign and NaN travel, too
  std::uint32_t raised = 0;  ///< bits of Optimizer::raise()
  /// A hash of 20 bits of the rank's Settings; differs where they do, but for chance.
  std::uint32_t settings = 0;
  bool gives_up = false;    ///< this rank cannot take the step
  bool leaves_out = false;  ///< this rank leaves out some tensors, for which it has no gradient
};

/// The notices of all ranks together.
struct Notices {
  std::vector<double> numbers;  ///< by rank
  std::uint32_t raised = 0;     ///< bits that any rank has raised
  bool settings_are_equal = true;
  bool all_leave_out = true;  ///< every rank leaves out some tensors
};

/// Sends `own` to all ranks, and returns the notices of all. Collective. Errors: PeerFailure if another rank
/// gives up, unless this one does. Wire: (n - 1) 16 B.
Notices exchange_notices(Communicator& communicator, const Notice& own);

}  // namespace kadam
