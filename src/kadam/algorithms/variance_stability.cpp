// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/variance_stability.hpp>

#include <algorithm>
#include <cmath>

namespace kadam {

VarianceStability::VarianceStability(double beta2, std::int64_t earliest_step)
    : interval_(std::max<std::int64_t>(1, std::llround(1.0 / (1.0 - beta2)))),
      earliest_step_(std::max(earliest_step, 2 * interval_)),
      norms_(static_cast<std::size_t>(interval_), 0.0) {}

bool VarianceStability::holds_at(std::int64_t step, double one_norm) {
  double& slot = norms_[static_cast<std::size_t>(step % interval_)];
  const double earlier = slot;
  slot = one_norm;
  if (step < earliest_step_ || !(earlier > 0.0)) return false;
  const double ratio = one_norm / earlier;
  return ratio >= threshold && ratio <= 1.0 / threshold;
}

}  // namespace kadam
