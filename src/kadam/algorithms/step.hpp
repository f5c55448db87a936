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

/// The elements of a vector in a range.
template <class T>
[[nodiscard]] Vector<T> elements_in(const Vector<T>& values, const ElementRange& range) {
  return Kokkos::subview(values, Kokkos::make_pair(range.begin, range.end));
}

/// Parameters in float32, the master, and optionally a model beside them: the same numbers rounded to 16
/// bits, to nearest even, for a forward pass that works with 16 bits. The model is written, never read.
///
/// A View of float32 is all that is needed where there is no model:
/// `optimizer->step(exec, x, gradient)`, and with one `optimizer->step(exec, {x, model}, gradient)`.
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
  /// Where kernels write the model; nowhere if there is none.
  [[nodiscard]] const HalfCopy<MemorySpace>& copy() const { return copy_; }
  /// The parameters in a range, and their model.
  [[nodiscard]] Parameters part(const ElementRange& range) const {
    const Vector<float> master = elements_in(master_, range);
    if (!has_model_) return master;
    if (copy_.format() == NumberFormat::float16) return {master, elements_in(float16_, range)};
    return {master, elements_in(bfloat16_, range)};
  }
  /// Of the model's View.
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

/// What a step did.
struct StepResult {
  std::int64_t step = 0;        ///< t, the number of steps taken so far; a skipped step does not count
  bool skipped = false;         ///< a gradient was NaN or Inf on some rank: nothing was changed anywhere
  const char* phase = "dense";  ///< of the algorithm, as in traffic_plan(); "dense" for a skipped step
  bool synchronised = true;  ///< parameters are equal on all ranks now; a skipped step leaves this as it was
  double learning_rate = 0.0;   ///< gamma; of a skipped step: what it would have had
  double gradient_norm = 0.0;   ///< root mean square of the ranks' gradient norms, before clipping
  double gradient_scale = 1.0;  ///< factor that clipping put on the gradient
  std::uint32_t raised = 0;     ///< bits that ranks have raised since their last step: the same on all ranks
  /// Steps that ranks have skipped each for itself since they last told each other, all ranks together: of
  /// optimizers that agree in rounds. Such a step counts; the same on all ranks.
  std::int64_t skipped_alone = 0;
};

/// One step of an algorithm: what it works with, and what it reports.
struct Step {
  const ExecutionSpace& exec;
  const Parameters& parameters;
  const Gradient& gradient;  ///< this rank's own, finite everywhere unless is_finite says otherwise
  std::int64_t t;            ///< 1, 2, ...
  StepResult& result;        ///< has learning_rate and gradient_norm; the algorithm sets the rest
  const CommonOptions& common;
  const ResolvedGroups& groups;
  const SegmentTable<MemorySpace>& segments;  ///< of the groups, for kernels
  Communicator& communicator;
  Phases& phases;
  std::uint32_t& raised;     ///< by this rank, and not told yet: where Algorithm::agrees_in_rounds()
  const Settings& settings;  ///< to be compared with those of others: there as well
  bool is_finite = true;     ///< false only there

  [[nodiscard]] const Vector<float>& x() const { return parameters.master(); }
  /// gamma, of which each segment has its own multiple.
  [[nodiscard]] double gamma() const { return result.learning_rate; }
  /// A rule for each segment: rule_of(segment, its factors) makes it, in the kernel.
  template <class RuleOf>
  [[nodiscard]] BySegment<MemorySpace, RuleOf> by_segment(const RuleOf& rule_of) const {
    return {segments, rule_of};
  }
  [[nodiscard]] float gradient_scale() const { return static_cast<float>(result.gradient_scale); }
  /// c1 and c2 of step t; 1 without bias correction.
  [[nodiscard]] double first_correction() const { return common.first_correction(t); }
  [[nodiscard]] double second_correction() const { return common.second_correction(t); }

  /// Adam's update, with the corrections of this step, or with these.
  [[nodiscard]] BySegment<MemorySpace, AdamStepOf> adam_rule() const;
  [[nodiscard]] BySegment<MemorySpace, AdamStepOf> adam_rule(double c1, double c2) const;
  /// The mean of the ranks' gradients; valid until the next call with this mean. Collective.
  [[nodiscard]] Gradient mean_gradient(DenseMean& mean) const;
  /// Time from here to the end of the scope counts for this phase.
  [[nodiscard]] auto enter(Phase phase) const { return phases.enter(exec, phase); }
};

}  // namespace kadam
