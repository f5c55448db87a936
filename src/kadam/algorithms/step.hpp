// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/settings.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/half_copy.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/segments.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/options/common_options.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

namespace kadam {

/// The part of a vector that lies in a range, without a copy.
template <class T>
[[nodiscard]] Vector<T> elements_in(const Vector<T>& values, const ElementRange& range) {
  return Kokkos::subview(values, Kokkos::make_pair(range.begin, range.end));
}

/// Parameters in float32, the master, and optionally a model beside them: the same numbers rounded to 16
/// bits, to nearest even, for a forward pass that works with 16 bits. The model is written, never read.
///
/// Without a model, a View of float32 converts to it: `optimizer->step(exec, x, gradient)`; with one:
/// `optimizer->step(exec, {x, model}, gradient)`.
class Parameters {
 public:
  /// The master alone. Unmanaged Views of the caller convert too.
  template <std::convertible_to<Vector<float>> View>
  Parameters(const View& master) : master_(master) {}
  Parameters(const Vector<float>& master, const Vector<Bfloat16>& model)
      : master_(master), bfloat16_(model), copy_(model), has_model_(true) {}
  Parameters(const Vector<float>& master, const Vector<Float16>& model)
      : master_(master), float16_(model), copy_(model), has_model_(true) {}

  [[nodiscard]] const Vector<float>& master() const { return master_; }
  [[nodiscard]] bool has_model() const { return has_model_; }
  /// The model, as kernels write it; empty if there is none.
  [[nodiscard]] const HalfCopy<MemorySpace>& copy() const { return copy_; }
  /// The parameters in a range, and their model.
  [[nodiscard]] Parameters part(const ElementRange& range) const {
    const Vector<float> master = elements_in(master_, range);
    if (!has_model_) return master;
    if (copy_.format() == NumberFormat::float16) return {master, elements_in(float16_, range)};
    return {master, elements_in(bfloat16_, range)};
  }
  /// Number of elements of the model's View; 0 without a model.
  [[nodiscard]] std::size_t model_extent() const { return bfloat16_.extent(0) + float16_.extent(0); }
  [[nodiscard]] std::string model_label() const {
    return copy_.format() == NumberFormat::float16 ? float16_.label() : bfloat16_.label();
  }

 private:
  Vector<float> master_;
  Vector<Bfloat16> bfloat16_;  ///< the model in one of these
  Vector<Float16> float16_;
  HalfCopy<MemorySpace> copy_;
  bool has_model_ = false;
};

struct AdamStepOf;
class DenseMean;

/// A gradient: a View of float, Bfloat16 or Float16, whichever the option `gradients` announced.
using Gradient = Numbers<MemorySpace>;

/// The result of a step.
struct StepResult {
  std::int64_t step = 0;  ///< t, the number of steps taken so far; a skipped step does not count
  bool skipped = false;   ///< a gradient was NaN or Inf on some rank: nothing was changed anywhere
  /// Of the algorithm, as in traffic_plan(): a text that lives as long as the program; "dense" for a skipped
  /// step.
  const char* phase = "dense";
  bool synchronised = true;  ///< parameters are equal on all ranks now; a skipped step leaves this as it was
  double learning_rate = 0.0;  ///< gamma; of a skipped step: what it would have had
  /// Root mean square of the ranks' gradient norms, before clipping. Of an optimizer that agrees in rounds:
  /// the norm of this rank's own gradient.
  double gradient_norm = 0.0;
  double gradient_scale = 1.0;  ///< factor that clipping put on the gradient
  std::uint32_t raised = 0;     ///< bits that ranks have raised since their last step: the same on all ranks
  /// In the last step of a round of local_adam and local_muon: number of steps that single ranks have skipped
  /// in the round, summed over all ranks; plus 1 if all ranks dropped the round because the steps of some
  /// rank did not stay finite. Else 0. Such a step counts in `step`. The same on all ranks.
  std::int64_t skipped_alone = 0;
};

/// One step of an algorithm: its input, and the result that it fills in.
struct Step {
  const ExecutionSpace& exec;
  const Parameters& parameters;
  const Gradient& gradient;  ///< this rank's own, finite everywhere unless is_finite says otherwise
  std::int64_t t;            ///< number of this step: 1, 2, ...
  /// Has learning_rate and gradient_norm already. The algorithm sets phase, gradient_scale and synchronised
  /// and, if it agrees in rounds, raised and skipped_alone.
  StepResult& result;
  const CommonOptions& common;
  const ResolvedGroups& groups;
  const SegmentTable<MemorySpace>& segments;  ///< of the groups, for kernels
  Communicator& communicator;
  Phases& phases;
  /// Bits that this rank has raised and not sent yet; only for algorithms that agree in rounds.
  std::uint32_t& raised;
  /// This rank's settings, to be compared with those of other ranks; only for algorithms that agree in
  /// rounds.
  const Settings& settings;
  bool is_finite = true;  ///< may be false only where the algorithm agrees in rounds

  [[nodiscard]] const Vector<float>& x() const { return parameters.master(); }
  /// The learning rate gamma, before the factor lr_scale of a segment.
  [[nodiscard]] double gamma() const { return result.learning_rate; }
  /// A rule for each segment, which a kernel makes by rule_of(segment, its factors).
  template <class RuleOf>
  [[nodiscard]] BySegment<MemorySpace, RuleOf> by_segment(const RuleOf& rule_of) const {
    return {segments, rule_of};
  }
  [[nodiscard]] float gradient_scale() const { return static_cast<float>(result.gradient_scale); }
  /// c1 and c2 of step t; 1 without bias correction.
  [[nodiscard]] double first_correction() const { return common.first_correction(t); }
  [[nodiscard]] double second_correction() const { return common.second_correction(t); }

  /// Adam's update with the bias corrections of this step and with gradient_scale(), which has to be set
  /// before.
  [[nodiscard]] BySegment<MemorySpace, AdamStepOf> adam_rule() const;
  /// Adam's update with the bias corrections c1 and c2.
  [[nodiscard]] BySegment<MemorySpace, AdamStepOf> adam_rule(double c1, double c2) const;
  /// The mean of the ranks' gradients; valid until the next call with this mean. Collective.
  [[nodiscard]] Gradient mean_gradient(DenseMean& mean) const;
  /// Counts the time until the end of the scope, in which the result has to be kept, for this phase.
  [[nodiscard]] auto enter(Phase phase) const { return phases.enter(exec, phase); }
};

}  // namespace kadam
