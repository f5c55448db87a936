// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/parameters.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/options/common_options.hpp>

#include <cstdint>

namespace kadam {

struct AdamStep;
class DenseMean;

/// A gradient: a View of float, Bfloat16 or Float16, whichever the option `gradients` announced.
using Gradient = Numbers<MemorySpace>;

/// What a step did.
struct StepResult {
  std::int64_t step = 0;        ///< t, the number of steps taken so far; a skipped step does not count
  bool skipped = false;         ///< a gradient was NaN or Inf on some rank: nothing was changed anywhere
  const char* phase = "dense";  ///< of the algorithm, as in traffic_plan(); "dense" for a skipped step
  bool synchronised = true;  ///< parameters are equal on all ranks now; a skipped step leaves this as it was
  double learning_rate = 0.0;   ///< gamma
  double gradient_norm = 0.0;   ///< root mean square of the ranks' gradient norms, before clipping
  double gradient_scale = 1.0;  ///< factor that clipping put on the gradient
  std::uint32_t raised = 0;     ///< bits that ranks have raised since their last step: the same on all ranks
};

/// One step of an algorithm: what it works with, and what it reports.
struct Step {
  const ExecutionSpace& exec;
  const Parameters& parameters;
  const Gradient& gradient;  ///< this rank's own, finite everywhere
  std::int64_t t;            ///< 1, 2, ...
  StepResult& result;        ///< has learning_rate and gradient_norm; the algorithm sets the rest
  const CommonOptions& common;
  const ResolvedGroups& groups;
  Communicator& communicator;
  Phases& phases;

  [[nodiscard]] const Vector<float>& x() const { return parameters.master(); }
  /// gamma of a segment.
  [[nodiscard]] double rate(const Segment& segment) const { return result.learning_rate * segment.lr_scale; }
  /// 1 - gamma lambda of a segment.
  [[nodiscard]] float decay(const Segment& segment) const {
    return static_cast<float>(1.0 - rate(segment) * segment.weight_decay);
  }
  [[nodiscard]] float gradient_scale() const { return static_cast<float>(result.gradient_scale); }
  /// c1 and c2 of step t; 1 without bias correction.
  [[nodiscard]] double first_correction() const { return common.first_correction(t); }
  [[nodiscard]] double second_correction() const { return common.second_correction(t); }

  /// Adam's update of a segment, with the corrections of this step, or with these.
  [[nodiscard]] AdamStep adam_rule(const Segment& segment) const;
  [[nodiscard]] AdamStep adam_rule(const Segment& segment, double c1, double c2) const;
  /// The mean of the ranks' gradients; valid until the next call with this mean. Collective.
  [[nodiscard]] Gradient mean_gradient(DenseMean& mean) const;
  /// Time from here to the end of the scope counts for this phase.
  [[nodiscard]] auto enter(Phase phase) const { return phases.enter(exec, phase); }
};

}  // namespace kadam
