// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/grouped_mean.hpp>
#include <kadam/algorithms/warmup_mean.hpp>
#include <kadam/options/common_options.hpp>
#include <kadam/state/state_fields.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  /// earliest_step: the end of the learning rate's warm-up.
  VarianceStability(double beta2, std::int64_t earliest_step);

  /// Records one_norm, the bias-corrected |v|_1 of step t = 1, 2, ..., and returns whether the test holds. To
  /// be called once a step, in order.
  [[nodiscard]] bool holds_at(std::int64_t step, double one_norm);

  void describe_state(StateFields& fields) { fields.number("stability_norms", norms_); }

 private:
  static constexpr double threshold = 0.96;

  std::int64_t interval_ = 1;
  std::int64_t earliest_step_ = 2;
  std::vector<double> norms_;  ///< of the last `interval_` steps, step t at t mod interval_
};

/// Measures by how much gradients have grown in the mean square since the variance was frozen, which a frozen
/// variance does not follow. Costs no message, because ranks agree on the norm in every step anyway.
class VarianceDrift {
 public:
  VarianceDrift() = default;
  explicit VarianceDrift(double beta2) : beta2_(beta2) {}

  /// Adds the root mean square of the ranks' gradient norms. To be called once a step.
  void add(double gradient_norm) {
    average_ = beta2_ * average_ + (1.0 - beta2_) * gradient_norm * gradient_norm;
    ++count_;
  }
  /// Notes that the variance is frozen now: later gradients are compared with those before.
  void freeze() {
    before_ = corrected();
    average_ = 0.0;
    count_ = 0;
  }
  void describe_state(StateFields& fields) {
    fields.number("drift_average", average_);
    fields.number("drift_count", count_);
    fields.number("drift_before", before_);
  }
  /// Mean square of gradients since the freeze over that before it; nothing until a step after the freeze was
  /// added.
  [[nodiscard]] std::optional<double> ratio() const {
    if (!before_ || count_ == 0 || *before_ == 0.0) return std::nullopt;
    return corrected() / *before_;
  }

 private:
  [[nodiscard]] double corrected() const {
    return count_ == 0 ? 0.0 : average_ / (1.0 - std::pow(beta2_, static_cast<double>(count_)));
  }

  double beta2_ = 0.0;
  double average_ = 0.0;
  std::int64_t count_ = 0;
  std::optional<double> before_;
};

/// Default of the option variance_floor: sqrt(v) is raised to at least this part of its root mean square in
/// the scale block. With 0.1 no coordinate of a transformer, a ViT or a CNN goes further than 4 times as far
/// as with dense Adam; without a floor, up to 10^5 times (docs/results.md).
inline constexpr double default_variance_floor = 0.1;

/// Ends a warm-up by freezing the variance: the part that 1-bit Adam and 1-bit LAMB share.
///
///   t = T_w:  m <- m/c1,  v <- v/c2;  raise_variance(): v = 0 where it is noise, elsewhere sqrt(v) is at
///             least variance_floor times its root mean square in the scale block;
///             coordinates with v = 0 are inactive;  v is frozen
class FrozenVariance {
 public:
  struct Options {
    StepsOrAuto warmup_steps;  ///< T_w; auto: the first step at which VarianceStability holds
    std::string warmup_code = WarmupMean::no_code;
    double variance_floor = default_variance_floor;

    void describe(OptionFields& fields);
    /// Errors: std::invalid_argument if warmup_steps was not given: it has no default.
    void validate(std::string_view owner) const;
    /// Sets how many steps of a run the phases `warmup` and `after` have. With warmup_steps = "auto" nobody
    /// knows the end of the warm-up, and both stay as they are (kadam-plan refuses "auto").
    void divide(StepPhase& warmup, StepPhase& after) const;
  };
  /// Describes the option variance_floor, also for algorithms that freeze the variance in another way.
  static void describe_floor(OptionFields& fields, double& variance_floor);

  FrozenVariance() = default;
  FrozenVariance(const Options& options, const CommonOptions& common);

  [[nodiscard]] bool is_frozen() const { return is_frozen_; }
  /// Records the root mean square of the ranks' gradient norms. To be called once a step.
  void add_norm(double gradient_norm) { drift_.add(gradient_norm); }
  /// Whether the warm-up ends with this step. one_norm() returns |v|_1; where warmup_steps is "auto" it is
  /// called at every step, else never.
  template <class OneNorm>
  [[nodiscard]] bool warm_up_ends(const Step& step, const OneNorm& one_norm) {
    if (!options_.warmup_steps.automatic) return step.t >= options_.warmup_steps.steps;
    return stability_.holds_at(step.t, one_norm() / step.second_correction());
  }
  /// Freezes the variance after this step, and folds the bias corrections into `moments`. From now on `mean`
  /// leaves out coordinates without variance.
  void freeze(const Step& step, const Moments& moments, GroupedMean& mean);

  void describe_state(StateFields& fields);
  /// To be called after a state was read: if the variance is frozen, `mean` leaves out coordinates without
  /// variance.
  void adopt_state(const ExecutionSpace& exec, const Moments& moments, GroupedMean& mean) const;
  /// Health::variance_drift.
  [[nodiscard]] std::optional<double> drift() const { return drift_.ratio(); }

 private:
  Options options_;
  bool is_frozen_ = false;
  VarianceStability stability_;
  VarianceDrift drift_;
};

}  // namespace kadam
