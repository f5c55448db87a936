// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <trace/clocks.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kadam::trace {

ClockOffset offset_from(const Meetings& meetings) {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < meetings.own_before.size(); ++k) {
    least = std::max(least, meetings.root_before[k] - meetings.own_after[k]);
    most = std::min(most, meetings.root_after[k] - meetings.own_before[k]);
  }
  return {0.5 * (least + most), 0.5 * (most - least), meetings.own_after.back()};
}

ClockOffset measure_offset(Communicator& communicator, const std::function<double()>& clock) {
  constexpr int rounds = 50;
  Meetings meetings;
  const double nothing = 0.0;
  for (int k = 0; k < rounds; ++k) {
    meetings.own_before.push_back(clock());
    (void)communicator.all_gather_values({&nothing, 1});
    meetings.own_after.push_back(clock());
    const std::array<double, 2> own = {meetings.own_before.back(), meetings.own_after.back()};
    const std::vector<double> all = communicator.all_gather_values(own);
    meetings.root_before.push_back(all[0]);
    meetings.root_after.push_back(all[1]);
  }
  if (communicator.rank() == 0) return {0.0, 0.0, meetings.own_after.back()};
  return offset_from(meetings);
}

double CommonClock::operator()(double own) const {
  const double length = last_.at - first_.at;
  const double part = length > 0.0 ? (own - first_.at) / length : 0.0;
  return own + std::lerp(first_.seconds, last_.seconds, part);
}

}  // namespace kadam::trace
