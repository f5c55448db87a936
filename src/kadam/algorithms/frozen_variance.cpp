// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/frozen_variance.hpp>
#include <kadam/kernels/freeze.hpp>

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

void FrozenVariance::Options::describe(OptionFields& fields) {
  fields.add("warmup_steps", warmup_steps, Range::at_least(1),
             "required: steps of the warm-up; after it the variance stays frozen");
  std::vector<std::string> codes = code_names(CodesThat::have_zero);
  codes.insert(codes.begin(), WarmupMean::no_code);
  fields.add_choice(
      "warmup_code", warmup_code, codes,
      "code of the mean gradient in the warm-up, one that can represent 0 (none: the dense mean)");
  describe_floor(fields, variance_floor);
}

void FrozenVariance::Options::validate(std::string_view owner) const {
  require_option(warmup_steps.automatic || warmup_steps.steps > 0, owner,
                 "option 'warmup_steps' is needed: give a number of steps above 0 (15 to 25 % of the run is "
                 "usual)");
}

void FrozenVariance::Options::divide(StepPhase& warmup, StepPhase& after) const {
  if (warmup_steps.automatic) return;
  warmup.count = steps_until(warmup_steps.steps);
  after.count = steps_after(warmup_steps.steps);
}

void FrozenVariance::describe_floor(OptionFields& fields, double& variance_floor) {
  fields.add(
      "variance_floor", variance_floor, Range::at_least(0.0).up_to(1.0),
      "smallest sqrt(v), as a fraction of its root mean square in the scale block (0: none, as published)");
}

FrozenVariance::FrozenVariance(const Options& options, const CommonOptions& common)
    : options_(options), drift_(common.beta2) {
  if (options.warmup_steps.automatic) {
    stability_ = VarianceStability(common.beta2, common.learning_rate.lr_warmup_steps);
  }
}

void FrozenVariance::freeze(const Step& step, const Moments& moments, GroupedMean& mean) {
  raise_variance(step.exec, mean.compressed().map(),
                 {options_.variance_floor, step.common.eps * std::sqrt(step.second_correction())}, moments.m,
                 moments.v);
  fold_corrections(step.exec, static_cast<float>(1.0 / step.first_correction()),
                   static_cast<float>(1.0 / step.second_correction()), moments.m, moments.v);
  mean.require_variance(step.exec, moments.v);
  drift_.freeze();
  is_frozen_ = true;
}

void FrozenVariance::describe_state(StateFields& fields) {
  fields.number("frozen", is_frozen_);
  stability_.describe_state(fields);
  drift_.describe_state(fields);
}

void FrozenVariance::adopt_state(const ExecutionSpace& exec, const Moments& moments,
                                 GroupedMean& mean) const {
  if (is_frozen_) mean.require_variance(exec, moments.v);
}

}  // namespace kadam
