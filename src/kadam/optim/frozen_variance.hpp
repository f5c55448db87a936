// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/common_options.hpp>
#include <kadam/optim/grouped_mean.hpp>
#include <kadam/optim/moments.hpp>
#include <kadam/optim/variance_drift.hpp>
#include <kadam/optim/variance_stability.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace kadam {

/// Ends a dense warm-up by freezing the variance: the part that 1-bit Adam and 1-bit LAMB share.
///
///   t = T_w:  m <- m/c1,  v <- v/c2;  coordinates with v = 0 are inactive;
///             sqrt(v) <- at least variance_floor times its root mean square in the scale block;  v is frozen
class FrozenVariance {
 public:
  struct Options {
    StepsOrAuto warmup_steps;  ///< T_w, or the first step at which VarianceStability holds
    double variance_floor = 0.0;

    void describe(OptionFields& fields);
    /// Errors: std::invalid_argument; there is no default for warmup_steps.
    void validate(std::string_view owner) const;
    /// Says of how many steps of a run the warm-up has, and what follows it. A warm-up that ends by itself
    /// takes the whole run, as far as one can know.
    void divide(StepPhase& warmup, StepPhase& after) const;
  };
  /// The option variance_floor, also of algorithms that freeze the variance otherwise.
  static void describe_floor(OptionFields& fields, double& variance_floor);

  FrozenVariance() = default;
  FrozenVariance(const Options& options, const CommonOptions& common);

  [[nodiscard]] bool is_frozen() const { return is_frozen_; }
  /// Notes the root mean square of the ranks' gradient norms, once a step.
  void add_norm(double gradient_norm) { drift_.add(gradient_norm); }
  /// Whether the warm-up ends with this step. one_norm() is |v|_1, which "auto" alone asks for, at every
  /// step.
  template <class OneNorm>
  [[nodiscard]] bool warm_up_ends(const Step& step, const OneNorm& one_norm) {
    if (!options_.warmup_steps.automatic) return step.t >= options_.warmup_steps.steps;
    return stability_.holds_at(step.t, one_norm() / step.second_correction());
  }
  /// Freezes the variance after this step; `mean` leaves out from now on what has none.
  void freeze(const Step& step, const Moments& moments, GroupedMean& mean);

  void describe_state(StateFields& fields);
  /// After a state was read: `mean` leaves out what has no variance, if it is frozen.
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
