// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/adam_update.hpp>
#include <kadam/optim/optimizer.hpp>

namespace kadam {

/// One Adam step on a mean gradient that all ranks hold: what `adam` does, and the warm-up of the others.
/// Uses the learning rate and the gradient scale of result.
inline void dense_adam_step(const ExecutionSpace& exec, const CommonOptions& options,
                            const ResolvedGroups& groups, std::int64_t step, const StepResult& result,
                            const Vector<float>& x, const Vector<float>& m, const Vector<float>& v,
                            const Vector<const float>& gradient) {
  const double c1 = options.first_correction(step);
  const double c2 = options.second_correction(step);
  AdamStep rule;
  rule.first = Ema::make(options.beta1);
  rule.second = Ema::make(options.beta2);
  rule.gradient_scale = static_cast<float>(result.gradient_scale);
  for (const Segment& segment : groups.segments) {
    rule.apply =
        AdamApply::make(result.learning_rate * segment.lr_scale, segment.weight_decay, options.eps, c1, c2);
    adam_update(exec, rule, segment.range.begin, segment.range.end, x, m, v, gradient);
  }
}

}  // namespace kadam
