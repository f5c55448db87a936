// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <functional>

namespace kadam::trace {

/// How far this rank's clock is behind that of rank 0, in seconds, and by how much that may be wrong.
struct ClockOffset {
  double seconds = 0.0;
  double error = 0.0;  ///< at most, either way
  double at = 0.0;     ///< by this rank's clock: when that was so
};

/// What the moments before and after exchanges that nobody leaves before all have come say of two clocks:
/// rank 0 was there before this rank left, and this rank before rank 0 left. [round]; of the same rounds.
struct Meetings {
  std::vector<double> own_before, own_after;    ///< by this rank's clock
  std::vector<double> root_before, root_after;  ///< by that of rank 0
};

/// Every round bounds the offset from both sides: max(root_before - own_after) <= offset <= min(root_after -
/// own_before). The middle of what is left. Worked number: own 1.0 to 1.4, root 5.1 to 5.3: the offset is
/// between 3.7 and 4.3, 4.0 +- 0.3.
[[nodiscard]] ClockOffset offset_from(const Meetings& meetings);

/// Meets a few dozen times. clock(): seconds by this rank's clock. Collective.
[[nodiscard]] ClockOffset measure_offset(Communicator& communicator, const std::function<double()>& clock);

/// Times of this rank as rank 0 would have read them, between two moments at which the offset was measured:
/// clocks of computers drift by some microseconds a second.
class CommonClock {
 public:
  CommonClock(const ClockOffset& first, const ClockOffset& last) : first_(first), last_(last) {}
  [[nodiscard]] double operator()(double own) const;

 private:
  ClockOffset first_;
  ClockOffset last_;
};

}  // namespace kadam::trace
