// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/notices.hpp>

#include <array>
#include <cmath>
#include <string>

namespace kadam {
namespace {

/// Packs all fields but the number into the sign and 53 bits of a float64.
double packed(const Notice& notice) {
  const std::uint64_t upper = (notice.gives_up ? std::uint64_t{1} << 20U : 0U) | notice.settings;
  return std::copysign(static_cast<double>((upper << 32U) | notice.raised), notice.leaves_out ? -1.0 : 1.0);
}

Notice unpacked(double number, double bits) {
  const auto all = static_cast<std::uint64_t>(std::fabs(bits));
  return {number, static_cast<std::uint32_t>(all), static_cast<std::uint32_t>(all >> 32U) & 0xFFFFFU,
          (all >> 52U) != 0, std::signbit(bits)};
}

}  // namespace

Notices exchange_notices(Communicator& communicator, const Notice& own) {
  const std::array<double, 2> numbers = {own.number, packed(own)};
  const std::vector<double> all = communicator.all_gather_values(numbers);
  Notices notices;
  for (std::size_t k = 0; k < all.size(); k += numbers.size()) {
    const Notice of_rank = unpacked(all[k], all[k + 1]);
    if (of_rank.gives_up && !own.gives_up) {
      throw PeerFailure("kadam: rank " + std::to_string(k / numbers.size()) +
                        " cannot take this step: its own message says why");
    }
    notices.numbers.push_back(of_rank.number);
    notices.raised |= of_rank.raised;
    notices.settings_are_equal = notices.settings_are_equal && of_rank.settings == own.settings;
    notices.all_leave_out = notices.all_leave_out && of_rank.leaves_out;
  }
  return notices;
}

}  // namespace kadam
