// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/state/state_fields.hpp>

#include <cstdint>

namespace kadam {

/// When 0/1 Adam updates the variance and when it synchronises (Lu et al. 2023).
///
/// Variance steps: t_0 = 1, t_(j+1) = t_j + 2^floor(j / kappa) while <= freeze. Synchronisation: when
/// t - (last one) >= gap(t), gap = 1 up to `freeze`, then min(interval_max, 2^floor((t - freeze - 1) /
/// doubling)). Worked number: kappa = 2, freeze = 10: variance steps 1, 2, 3, 5, 7.
class ZeroOnePolicy {
 public:
  struct Options {
    std::int64_t freeze = 1;
    std::int64_t kappa = 16;
    std::int64_t doubling = 32678;
    std::int64_t interval_max = 16;
  };

  ZeroOnePolicy() = default;
  explicit ZeroOnePolicy(const Options& options) : options_(options) {}

  /// Whether step t is one, the next that is taken.
  [[nodiscard]] bool is_variance_step(std::int64_t step) const {
    return step == next_variance_step_ && step <= options_.freeze;
  }
  /// Every variance step, in order.
  void take_variance_step();
  [[nodiscard]] bool is_sync_step(std::int64_t step) const { return step - last_sync_ >= gap(step); }
  /// Every variance step is one, too.
  void synchronised_at(std::int64_t step) { last_sync_ = step; }
  [[nodiscard]] std::int64_t gap(std::int64_t step) const;

  /// As if this policy had been followed up to a step, and that had synchronised.
  void start_after(std::int64_t step);
  void describe_state(StateFields& fields) {
    fields.number("next_variance_step", next_variance_step_);
    fields.number("variance_index", variance_index_);
    fields.number("last_sync", last_sync_);
  }

 private:
  Options options_;
  std::int64_t next_variance_step_ = 1;
  std::int64_t variance_index_ = 0;  ///< j of next_variance_step_
  std::int64_t last_sync_ = 0;
};

}  // namespace kadam
