// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/zero_one_policy.hpp>

#include <algorithm>

namespace kadam {
namespace {

/// 2^exponent, short of overflow: no run is longer.
std::int64_t power_of_two(std::int64_t exponent) {
  return std::int64_t{1} << std::min<std::int64_t>(exponent, 62);
}

}  // namespace

void ZeroOnePolicy::take_variance_step() {
  next_variance_step_ += std::min(power_of_two(variance_index_ / options_.kappa), options_.freeze);
  ++variance_index_;
}

void ZeroOnePolicy::start_after(std::int64_t step) {
  while (next_variance_step_ <= step && next_variance_step_ <= options_.freeze) take_variance_step();
  synchronised_at(step);
}

std::int64_t ZeroOnePolicy::gap(std::int64_t step) const {
  if (step <= options_.freeze) return 1;
  return std::min(options_.interval_max, power_of_two((step - options_.freeze - 1) / options_.doubling));
}

}  // namespace kadam
