// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/state/state_fields.hpp>

#include <cstdint>
#include <vector>

namespace kadam {

/// Decides when the variance has settled: the automatic end of 1-bit Adam's warm-up.
///
/// The test holds at a step t >= max(end of the learning rate's warm-up, 2 Delta) if
/// 0.96 <= |v_t|_1 / |v_(t - Delta)|_1 <= 1/0.96, Delta = 1/(1 - beta2), norms bias-corrected. Two-sided and
/// corrected, because a raw v that is still filling passes the one-sided test at once.
/// Worked number: beta2 = 0.999 gives Delta = 1000: never before step 2000.
class VarianceStability {
 public:
  VarianceStability() = default;
  VarianceStability(double beta2, std::int64_t earliest_step);

  /// Records the norm of step t = 1, 2, ... and says whether the test holds. Call once a step, in order.
  [[nodiscard]] bool holds_at(std::int64_t step, double one_norm);

  void describe_state(StateFields& fields) { fields.number("stability_norms", norms_); }

 private:
  static constexpr double threshold = 0.96;

  std::int64_t interval_ = 1;
  std::int64_t earliest_step_ = 2;
  std::vector<double> norms_;  ///< of the last `interval_` steps, step t at t mod interval_
};

}  // namespace kadam
